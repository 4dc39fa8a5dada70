#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "inventory/hosts_file.h"

namespace sshx::exec {

/// One place that an operation acts on, settled before anything else happens.
struct Target {
  std::optional<std::string> alias;
  std::string address;
  std::uint16_t port = inventory::kDefaultPort;
  std::string user;
  /// Private key file as it was written; empty: the agent's keys and the default files.
  std::string identity;
  std::vector<std::string> groups;
  std::map<std::string, std::string> tags;
};

/// The target that a checked request names by `targets` or `address`, with `user`, `port` and
/// `identity` on top. Reads the hosts file for a name, nothing for an address. Returns: config
/// (`no_target`, `unknown_target`, `request_conflict`, `address`, `user`), and what load_hosts
/// returns.
[[nodiscard]] Result<Target> resolve_target(const Json& request);

/// The target that a host of the inventory is.
[[nodiscard]] Target target_of(const inventory::Host& host);

/// The contract's `target` object.
[[nodiscard]] Json target_json(const Target& target);

}  // namespace sshx::exec
