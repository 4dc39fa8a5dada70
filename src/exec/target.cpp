#include "exec/target.h"

#include <fmt/format.h>

#include <utility>

#include "core/paths.h"

namespace sshx::exec {
namespace {

Error override_not_allowed(std::string_view what, const inventory::Host& host) {
  return {ErrorKind::blocked, "override_not_allowed",
          fmt::format("another {} than {}'s own cannot be used here", what, host.name),
          fmt::format("leave {} out", what)};
}

template <class T>
std::optional<T> given(const Json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end()) return std::nullopt;
  return found->get<T>();
}

}  // namespace

Target target_of(const inventory::Host& host) {
  return {host.name, host.address, host.port, host.user, host.identity, host.groups, host.tags};
}

Result<Target> target_at(std::string_view text) {
  SSHX_TRY(auto address, inventory::parse_address(text));
  Target target;
  target.address = std::move(address.host);
  target.port = address.port;
  target.user = std::move(address.user);
  return target;
}

Overrides overrides_of(const Json& request) {
  return {.user = given<std::string>(request, "user"),
          .port = given<std::uint16_t>(request, "port"),
          .identity = given<std::string>(request, "identity"),
          .local_user = local_user_name()};
}

Status override_target(const Overrides& overrides, Target& target) {
  if (overrides.user) target.user = *overrides.user;
  if (overrides.port) target.port = *overrides.port;
  if (overrides.identity) target.identity = *overrides.identity;
  if (target.user.empty()) target.user = overrides.local_user;
  // One home for the rules of a name, address, user and port, wherever they come from.
  return inventory::check_host({.name = target.alias.value_or("address"),
                                .address = target.address,
                                .port = target.port,
                                .user = target.user,
                                .identity = target.identity,
                                .groups = target.groups,
                                .tags = target.tags,
                                .description = {}});
}

Status check_own(const Overrides& overrides, const inventory::Host& host) {
  const auto& own_user = host.user.empty() ? overrides.local_user : host.user;
  if (overrides.user.value_or(own_user) != own_user) return override_not_allowed("user", host);
  if (overrides.port.value_or(host.port) != host.port) return override_not_allowed("port", host);
  return {};
}

Json target_json(const Target& target) {
  Json json = Json::object();
  json["alias"] = target.alias ? Json(*target.alias) : Json(nullptr);
  json["address"] = target.address;
  json["port"] = target.port;
  json["user"] = target.user;
  json["groups"] = target.groups;
  json["tags"] = Json::object();
  for (const auto& [key, value] : target.tags) json["tags"][key] = value;
  json["via"] = Json::array();
  return json;
}

}  // namespace sshx::exec
