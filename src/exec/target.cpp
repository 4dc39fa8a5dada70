#include "exec/target.h"

#include <fmt/format.h>

#include "core/paths.h"
#include "core/text.h"

namespace sshx::exec {
namespace {

Error no_target(const inventory::Hosts& hosts, const inventory::Reach& reach) {
  std::string hint = fmt::format("use --target with one of: {}", hosts.name_list());
  if (hosts.all().empty()) {
    hint = reach.is_limited()
               ? "no host of the inventory may be used here"
               : "add a host: sshx host add NAME --address ADDRESS; or use --address";
  }
  return config_error("no_target", "no target is named", std::move(hint));
}

Error address_not_allowed() {
  return {ErrorKind::blocked, "address_not_allowed",
          "a literal address cannot be used here: only named hosts may be",
          "use --target NAME; sshx host list shows which there are"};
}

Error override_not_allowed(std::string_view what, const inventory::Host& host) {
  return {ErrorKind::blocked, "override_not_allowed",
          fmt::format("another {} than {}'s own cannot be used here", what, host.name),
          fmt::format("leave {} out", what)};
}

Result<inventory::Hosts> load_inventory() {
  SSHX_TRY(const auto path, hosts_file_path());
  return inventory::load_hosts(path);
}

Result<Target> literal_target(const std::string& text) {
  SSHX_TRY(auto address, inventory::parse_address(text));
  Target target;
  target.address = std::move(address.host);
  target.port = address.port;
  target.user = std::move(address.user);
  return target;
}

/// A host that is allowed is so as the inventory has it.
Status check_overrides(const Json& request, const inventory::Host& host) {
  const auto own_user = host.user.empty() ? local_user_name() : host.user;
  if (request.value("user", own_user) != own_user) return override_not_allowed("user", host);
  if (request.value("port", host.port) != host.port) return override_not_allowed("port", host);
  return {};
}

Result<Target> named_target(const Json& request, const inventory::Reach& reach) {
  SSHX_TRY(const auto hosts, load_inventory());
  const auto names = request.find("targets");
  if (names == request.end() || names->empty()) return no_target(reach.within(hosts), reach);
  SSHX_TRY(const auto host, reach.require(hosts, names->front().get<std::string>()));
  if (reach.is_limited()) {
    SSHX_CHECK(check_overrides(request, host));
  }
  return target_of(host);
}

Status apply_overrides(const Json& request, Target& target) {
  if (const auto user = request.find("user"); user != request.end())
    target.user = user->get<std::string>();
  if (const auto port = request.find("port"); port != request.end())
    target.port = port->get<std::uint16_t>();
  if (const auto identity = request.find("identity"); identity != request.end()) {
    target.identity = identity->get<std::string>();
  }
  if (target.user.empty()) target.user = local_user_name();
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

}  // namespace

Target target_of(const inventory::Host& host) {
  return {host.name, host.address, host.port, host.user, host.identity, host.groups, host.tags};
}

Result<Target> resolve_target(const Json& request, const inventory::Reach& reach) {
  const bool named = request.contains("targets") && !request["targets"].empty();
  const bool literal = request.contains("address");
  if (named && literal) {
    return config_error("request_conflict", "both a target name and an address are given",
                        "use either --target or --address");
  }
  if (literal && reach.is_limited()) return address_not_allowed();
  auto target = literal ? literal_target(request["address"].get<std::string>())
                        : named_target(request, reach);
  if (!target) return target;
  SSHX_CHECK(apply_overrides(request, *target));
  return target;
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
