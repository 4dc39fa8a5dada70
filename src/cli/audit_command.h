#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs `audit query` or `audit show`. Only reads the store. Prints sshx.audit.query.v1 or a table.
/// Takes a completed invocation; gives the exit code. Returns: what the operation returns, for the
/// caller to render as sshx.error.v1 or text; local_io when stdout cannot be written.
[[nodiscard]] Result<int> run_audit_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
