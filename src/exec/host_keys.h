#pragma once

#include <string>
#include <vector>

#include "exec/target.h"
#include "exec/trust.h"

namespace sshx::exec {

/// One key that a server showed, and what known_hosts says of it.
struct OfferedKey {
  PublicKey key;
  inventory::HostKeyVerdict verdict = inventory::HostKeyVerdict::unknown;
};

/// Asks the server of `target` for its key of each of `types` (all supported ones when empty), one
/// connection each, and sends nothing to log in. A type that the server has not is left out. Waits
/// within `timeout_seconds` for all of them; SIGINT, SIGTERM and SIGHUP cancel. Returns: connect,
/// protocol (`no_common_algorithm` when it has none of them), cancelled.
[[nodiscard]] Result<std::vector<OfferedKey>> scan_host_keys(const Target& target,
                                                             const Trust& trust,
                                                             const std::vector<std::string>& types,
                                                             double timeout_seconds);

}  // namespace sshx::exec
