#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs a `host` operation: add, update, remove, show, list, trust or test. `trust` and `test` use
/// the network; `trust` may ask on the terminal. Prints sshx.hosts.v1 or a table. Takes a completed
/// invocation; gives the exit code. Returns: what the operation returns, for the caller to render
/// as sshx.error.v1 or text; local_io when stdout cannot be written.
[[nodiscard]] Result<int> run_host_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
