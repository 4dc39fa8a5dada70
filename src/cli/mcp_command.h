#pragma once

#include "cli/options.h"
#include "cli/terminal.h"

namespace sshx::cli {

/// Carries out `mcp serve` and `mcp config`. Serving waits until the client goes. Gives back the
/// exit code. Returns: config (`range`, `not_a_folder`), adapter (`stalled`), local_io.
[[nodiscard]] Result<int> run_mcp_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
