#include "inventory/hosts_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/file.h"
#include "core/text.h"

namespace sshx::inventory {
namespace {

using std::filesystem::path;

constexpr std::string_view kSchemaVersion = "sshx.hosts_file.v1";
constexpr std::size_t kFileLimit = std::size_t{64} << 20U;
constexpr std::size_t kNamesListed = 20;

Error file_error(std::string_view place, std::string_view why, std::string hint = {}) {
  return config_error("hosts_file", fmt::format("{}: {}", printable(place), why), std::move(hint));
}

std::string_view type_name(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "an array" : "an object";
}

Error type_error(std::string_view place, std::string_view wanted, const Json& value) {
  return file_error(place, fmt::format("must be {}, not {}", wanted, type_name(value)));
}

Error unknown_property(std::string_view place, std::string_view name,
                       std::span<const std::string> known) {
  const auto suggestion = nearest(name, known);
  return file_error(fmt::format("{}.{}", place, name), "is no known property",
                    suggestion ? fmt::format("did you mean \"{}\"?", *suggestion)
                               : fmt::format("known properties: {}", join(known, ", ")));
}

Result<std::string> string_from(std::string_view place, const Json& value) {
  if (!value.is_string()) return type_error(place, "a string", value);
  return value.get_ref<const std::string&>();
}

Result<std::uint16_t> port_from(std::string_view place, const Json& value) {
  if (!value.is_number_integer()) return type_error(place, "a whole number from 1 to 65535", value);
  const auto port = value.get<double>();
  if (port < 1 || port > 65535) return file_error(place, "must be a whole number from 1 to 65535");
  return static_cast<std::uint16_t>(port);
}

Result<std::vector<std::string>> strings_from(std::string_view place, const Json& value) {
  if (!value.is_array()) return type_error(place, "an array of strings", value);
  std::vector<std::string> strings;
  for (const auto& item : value) {
    SSHX_TRY(auto text, string_from(fmt::format("{}[{}]", place, strings.size()), item));
    strings.push_back(std::move(text));
  }
  return strings;
}

Result<std::map<std::string, std::string>> map_from(std::string_view place, const Json& value) {
  if (!value.is_object()) return type_error(place, "an object of strings", value);
  std::map<std::string, std::string> map;
  for (const auto& [key, item] : value.items()) {
    SSHX_TRY(map[key], string_from(fmt::format("{}.{}", place, key), item));
  }
  return map;
}

const std::vector<std::string>& host_properties() {
  static const std::vector<std::string> properties{"address", "port", "user",       "identity",
                                                   "groups",  "tags", "description"};
  return properties;
}

Status read_property(Host& host, std::string_view place, const std::string& name,
                     const Json& value) {
  const auto inner = fmt::format("{}.{}", place, name);
  if (name == "address") {
    SSHX_TRY(host.address, string_from(inner, value));
  } else if (name == "port") {
    SSHX_TRY(host.port, port_from(inner, value));
  } else if (name == "user") {
    SSHX_TRY(host.user, string_from(inner, value));
  } else if (name == "identity") {
    SSHX_TRY(host.identity, string_from(inner, value));
  } else if (name == "groups") {
    SSHX_TRY(host.groups, strings_from(inner, value));
  } else if (name == "tags") {
    SSHX_TRY(host.tags, map_from(inner, value));
  } else if (name == "description") {
    SSHX_TRY(host.description, string_from(inner, value));
  } else {
    return unknown_property(place, name, host_properties());
  }
  return {};
}

Status check_version(const Json& root) {
  const auto version = root.find("schema_version");
  if (version == root.end()) {
    return file_error("schema_version", "is missing",
                      fmt::format("it must be \"{}\"", kSchemaVersion));
  }
  if (*version == kSchemaVersion) return {};
  return file_error("schema_version", fmt::format("this sshx reads \"{}\" only", kSchemaVersion),
                    "another version of sshx wrote the file: use that one, or move the file away");
}

Result<Hosts> hosts_from_json(const Json& root) {
  static const std::vector<std::string> properties{"schema_version", "hosts"};
  if (!root.is_object()) return type_error("the document", "an object", root);
  SSHX_CHECK(check_version(root));
  for (const auto& [name, value] : root.items()) {
    if (std::find(properties.begin(), properties.end(), name) == properties.end()) {
      return unknown_property("the document", name, properties);
    }
  }
  const auto list = root.find("hosts");
  if (list == root.end()) return file_error("hosts", "is missing");
  if (!list->is_object()) return type_error("hosts", "an object", *list);
  std::vector<Host> hosts;
  for (const auto& [name, value] : list->items()) {
    SSHX_TRY(auto host, host_from_json(name, value));
    hosts.push_back(std::move(host));
  }
  return Hosts(std::move(hosts));
}

Json hosts_to_json(const Hosts& hosts) {
  Json list = Json::object();
  for (const auto& host : hosts.all()) list[host.name] = host_to_json(host);
  return {{"schema_version", kSchemaVersion}, {"hosts", std::move(list)}};
}

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const auto& host : hosts) names.push_back(host.name);
  return names;
}

bool before(const Host& host, std::string_view name) { return host.name < name; }

}  // namespace

Hosts::Hosts(std::vector<Host> hosts) : hosts_(std::move(hosts)) {
  std::sort(hosts_.begin(), hosts_.end(),
            [](const Host& a, const Host& b) { return a.name < b.name; });
}

const Host* Hosts::find(std::string_view name) const noexcept {
  const auto place = std::lower_bound(hosts_.begin(), hosts_.end(), name, before);
  return place != hosts_.end() && place->name == name ? &*place : nullptr;
}

std::string Hosts::name_list() const { return listed(names_of(hosts_), kNamesListed); }

Result<Host> Hosts::require(std::string_view name) const {
  if (const auto* const host = find(name)) return *host;
  std::string hint = "add it: sshx host add NAME --address ADDRESS";
  if (!hosts_.empty()) hint = fmt::format("known hosts: {}", name_list());
  if (const auto suggestion = nearest(name, names_of(hosts_))) {
    hint = fmt::format("did you mean \"{}\"? {}", *suggestion, hint);
  }
  return config_error("unknown_target", fmt::format("no host is named \"{}\"", printable(name)),
                      std::move(hint));
}

void Hosts::put(Host host) {
  const auto place = std::lower_bound(hosts_.begin(), hosts_.end(), host.name, before);
  if (place != hosts_.end() && place->name == host.name) {
    *place = std::move(host);
  } else {
    hosts_.insert(place, std::move(host));
  }
}

void Hosts::remove(std::string_view name) {
  std::erase_if(hosts_, [&](const Host& host) { return host.name == name; });
}

Result<Hosts> load_hosts(const path& file) {
  SSHX_CHECK(check_private(file));
  const auto text = read_file(file, kFileLimit);
  if (!text) {
    if (text.error().code == "not_found") return Hosts();
    return text.error();
  }
  auto root = parse_json(*text, file.string());
  if (!root) {
    root.error().code = "hosts_file";
    return std::move(root).error();
  }
  auto hosts = hosts_from_json(*root);
  if (!hosts) hosts.error().message = fmt::format("{}: {}", file.string(), hosts.error().message);
  return hosts;
}

Status change_hosts(const path& file, const std::function<Status(Hosts&)>& change) {
  if (file.has_parent_path()) {
    SSHX_CHECK(make_private_directory(file.parent_path()));
  }
  // The file itself is replaced by each writer, so the lock lives beside it.
  auto lock_file = file;
  lock_file += ".lock";
  SSHX_TRY(const auto lock, FileLock::acquire(lock_file));
  SSHX_TRY(auto hosts, load_hosts(file));
  const auto before_change = hosts.all();
  SSHX_CHECK(change(hosts));
  if (hosts.all() == before_change) return {};
  return replace_file(file, pretty_json(hosts_to_json(hosts)));
}

Json host_to_json(const Host& host) {
  Json value{{"address", host.address}, {"port", host.port}};
  if (!host.user.empty()) value["user"] = host.user;
  if (!host.identity.empty()) value["identity"] = host.identity;
  if (!host.groups.empty()) value["groups"] = host.groups;
  if (!host.tags.empty()) value["tags"] = host.tags;
  if (!host.description.empty()) value["description"] = host.description;
  return value;
}

Result<Host> host_from_json(std::string_view name, const Json& value) {
  const auto place = fmt::format("hosts.{}", name);
  if (!value.is_object()) return type_error(place, "an object", value);
  Host host;
  host.name = name;
  for (const auto& [property, inner] : value.items()) {
    SSHX_CHECK(read_property(host, place, property, inner));
  }
  if (host.address.empty()) return file_error(fmt::format("{}.address", place), "is missing");
  const auto checked = check_host(host);
  if (!checked) {
    // The rule's own code says which property it is about.
    const auto& error = checked.error();
    return file_error(error.code == "name" ? place : fmt::format("{}.{}", place, error.code),
                      error.message, error.hint);
  }
  return host;
}

}  // namespace sshx::inventory
