#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "exec/target.h"
#include "inventory/reach.h"

namespace sshx::exec {

/// What a request acts on, settled before anything else happens.
struct Selection {
  std::vector<Target> targets;  ///< Sorted by name, each name once; none in an empty shard.
  /// One entry of `targets` or an `address` was given and no other selector, so that there is one
  /// target, and the answer is its result. Else it is a run of several, however many there are.
  bool is_single = false;
  std::vector<std::string> notes;  ///< What the caller should hear.
};

/// The targets that a checked request selects: those of `targets` and `hosts_from`, and those that
/// `groups` and `tags`, or `all_hosts` and `tags`, mean; without `exclude`; of them the `shard`.
/// `user`, `port` and `identity` go on top of each. Or the one at `address`. Only hosts within
/// `reach` exist; where it is limited, an address is refused, and so is another user or port than a
/// host's own, which would be another account or another place. Reads the hosts file for names,
/// nothing for an address, and `hosts_from`, for which it may wait where that is stdin. Returns:
/// config (`no_target`: nothing is asked for; `no_match`: nothing is left; `unknown_target`,
/// `unknown_group`, `unknown_tag`, `request_conflict`, `range`, `no_home`, and what target_at and
/// override_target return), blocked (`target_not_allowed`, `address_not_allowed`,
/// `override_not_allowed`), local_io of `hosts_from`, and what load_hosts returns.
[[nodiscard]] Result<Selection> select_targets(const Json& request,
                                               const inventory::Reach& reach = {});

}  // namespace sshx::exec
