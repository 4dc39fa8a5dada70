#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/hosts_file.h"

namespace sshx::inventory {

/// Which hosts of the inventory an operator lets be used: all, or those that a list of names or of
/// groups admits.
class Reach {
 public:
  /// All hosts, and literal addresses, too.
  Reach() = default;
  /// Hosts that have one of `names`, where a "*" at the end stands for any rest, or are in one of
  /// `groups`. Both empty: all.
  Reach(std::vector<std::string> names, std::vector<std::string> groups);

  /// Whether there is a list at all.
  [[nodiscard]] bool is_limited() const noexcept { return !names_.empty() || !groups_.empty(); }

  [[nodiscard]] bool admits(std::string_view name, std::span<const std::string> groups) const;

  /// The hosts that are admitted.
  [[nodiscard]] Hosts within(const Hosts& hosts) const;

  /// The host of that name. A name that is not admitted and one that nobody has get the same
  /// answer, so that nobody learns the names of others' hosts here. Returns: blocked
  /// (`target_not_allowed`) with the names that are admitted; without lists what Hosts::require
  /// returns.
  [[nodiscard]] Result<Host> require(const Hosts& hosts, std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::string> groups_;
};

}  // namespace sshx::inventory
