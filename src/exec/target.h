#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "inventory/host.h"

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

  /// What people call it: its name in the inventory, else its address.
  [[nodiscard]] const std::string& name() const { return alias ? *alias : address; }
};

/// The target that a host of the inventory is.
[[nodiscard]] Target target_of(const inventory::Host& host);

/// The target of an address literal. Returns: config (`address`, `user`).
[[nodiscard]] Result<Target> target_at(std::string_view address);

/// What a request puts on top of each of its targets.
struct Overrides {
  std::optional<std::string> user;
  std::optional<std::uint16_t> port;
  std::optional<std::string> identity;
  std::string local_user;  ///< Who logs in where neither the request nor the host names a user.
};

/// `user`, `port` and `identity` of a checked request, and who is calling.
[[nodiscard]] Overrides overrides_of(const Json& request);

/// Puts `overrides` on `target`. Returns: what check_host returns of the outcome.
[[nodiscard]] Status override_target(const Overrides& overrides, Target& target);

/// Whether `overrides` leave `host` the account and the place that it is: a host that an operator
/// admits is admitted as the inventory has it. Returns: blocked (`override_not_allowed`).
[[nodiscard]] Status check_own(const Overrides& overrides, const inventory::Host& host);

/// The contract's `target` object.
[[nodiscard]] Json target_json(const Target& target);

}  // namespace sshx::exec
