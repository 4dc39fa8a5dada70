#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs `host test` on one host or on all: connect, host key, login, a channel. One line a host as
/// they come, or sshx.hosts.v1. Exit code 0 when all passed, 1 when some did not. Waits for the
/// network. Returns: config (`no_target`, `request_conflict`, `unknown_target`), local_io,
/// cancelled.
[[nodiscard]] Result<int> run_host_test_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
