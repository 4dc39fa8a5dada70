#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs `run`: opens the evidence store as the presentation says, carries the run out and prints
/// sshx.result.v1, or streams the command's output. With dry_run it prints the plan and touches
/// nothing. Takes a completed invocation; gives the exit code. Returns: what prepare_run returns,
/// for the caller to render as sshx.error.v1 or text; local_io when stdout cannot be written.
[[nodiscard]] Result<int> run_run_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
