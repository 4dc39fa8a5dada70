#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "inventory/hosts_file.h"

namespace sshx::inventory {

/// Which hosts groups and tags mean: those in any of the groups that have all of the tags.
struct Filter {
  std::vector<std::string> groups;  ///< Empty: in whichever group, or in none.
  std::vector<std::pair<std::string, std::string>> tags;  ///< Key and value.

  [[nodiscard]] bool matches(const Host& host) const;

  /// Whether each group and each tag is one that a host has: one that none has is a typo, or the
  /// wrong inventory. Returns: config (`unknown_group`, `unknown_tag`), with what there is.
  [[nodiscard]] Status check_known(const Hosts& hosts) const;
};

/// From the lists `groups` and `tags` (KEY=VALUE) of a checked request; a missing one asks for
/// nothing.
[[nodiscard]] Filter filter_of(const Json& request);

}  // namespace sshx::inventory
