#include "cli/host_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/text.h"

namespace sshx::cli {
namespace {

using inventory::Host;

/// Whether an address literal that parse_address accepts says a port.
bool names_port(std::string_view text) {
  const auto rest = text.substr(text.rfind('@') + 1);
  if (rest.starts_with('[')) return rest.find("]:") != std::string_view::npos;
  return std::ranges::count(rest, ':') == 1;
}

Status apply_address(const Json& request, Host& host) {
  if (!request.contains("address")) return {};
  const auto text = request["address"].get<std::string>();
  SSHX_TRY(auto address, inventory::parse_address(text));
  host.address = std::move(address.host);
  if (names_port(text)) host.port = address.port;
  if (!address.user.empty()) host.user = std::move(address.user);
  return {};
}

std::string lasting_path(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.front() == '~' || path.front() == '-')
    return path;
  std::error_code fault;
  const auto absolute = std::filesystem::absolute(path, fault);
  return fault ? path : absolute.lexically_normal().string();
}

void apply_groups(const Json& request, Host& host) {
  if (!request.contains("groups")) return;
  host.groups.clear();
  for (const auto& item : request["groups"]) {
    auto group = item.get<std::string>();
    if (std::ranges::find(host.groups, group) == host.groups.end())
      host.groups.push_back(std::move(group));
  }
}

Status apply_tags(const Json& request, Host& host) {
  if (!request.contains("tags")) return {};
  host.tags.clear();
  for (const auto& item : request["tags"]) {
    const auto& text = item.get_ref<const std::string&>();
    const auto equals = text.find('=');
    const auto [place, added] = host.tags.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!added) {
      return config_error("request_conflict",
                          fmt::format("tags (--tag) give {} twice", printable(place->first)));
    }
  }
  return {};
}

Status apply_given(const Json& request, Host& host) {
  SSHX_CHECK(apply_address(request, host));
  host.port = request.value("port", host.port);
  host.user = request.value("user", host.user);
  if (request.contains("identity")) host.identity = lasting_path(request["identity"]);
  host.description = request.value("description", host.description);
  apply_groups(request, host);
  return apply_tags(request, host);
}

void clear(std::string_view property, Host& host) {
  const Host empty;
  if (property == "port") host.port = empty.port;
  if (property == "user") host.user.clear();
  if (property == "identity") host.identity.clear();
  if (property == "groups") host.groups.clear();
  if (property == "tags") host.tags.clear();
  if (property == "description") host.description.clear();
}

Status clear_unset(const Json& request, Host& host) {
  if (!request.contains("unset")) return {};
  for (const auto& item : request["unset"]) {
    const auto& property = item.get_ref<const std::string&>();
    if (request.contains(property)) {
      return config_error("request_conflict", fmt::format("{} is both given and unset", property));
    }
    clear(property, host);
  }
  return {};
}

}  // namespace

Result<Host> new_host(const Json& request) {
  Host host;
  host.name = request.at("name");
  SSHX_CHECK(apply_given(request, host));
  SSHX_CHECK(inventory::check_host(host));
  return host;
}

Result<Host> updated_host(Host host, const Json& request) {
  SSHX_CHECK(clear_unset(request, host));
  SSHX_CHECK(apply_given(request, host));
  SSHX_CHECK(inventory::check_host(host));
  return host;
}

}  // namespace sshx::cli
