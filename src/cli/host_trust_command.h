#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs `host trust`: asks the server for its keys, shows them, and records in the user's
/// known_hosts those that the person at the terminal or --fingerprint vouches for. Nothing is sent
/// to log in. A stored key of the same type that differs stops everything: nothing is recorded.
/// Waits for the network and for the person. Exit code 0 when the keys are trusted, 255 otherwise.
/// Returns: what comes before the host is asked (config, local_io, host_key is in the answer).
[[nodiscard]] Result<int> run_host_trust_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
