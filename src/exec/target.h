#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "inventory/hosts_file.h"
#include "inventory/reach.h"

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
/// `identity` on top. Reads the hosts file for a name, nothing for an address. Where `reach` is
/// limited, an address is refused, and so is another user or port than the host's own, which would
/// be another account or another place. Returns: config (`no_target`, `unknown_target`,
/// `request_conflict`, `address`, `user`), blocked (`target_not_allowed`, `address_not_allowed`,
/// `override_not_allowed`), and what load_hosts returns.
[[nodiscard]] Result<Target> resolve_target(const Json& request,
                                            const inventory::Reach& reach = {});

/// The target that a host of the inventory is.
[[nodiscard]] Target target_of(const inventory::Host& host);

/// The contract's `target` object.
[[nodiscard]] Json target_json(const Target& target);

}  // namespace sshx::exec
