#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs `schema list` (sshx.schemas.v1 or a table) or `schema show` (the schema itself). No I/O but
/// stdout. Takes a completed invocation; gives the exit code. Returns: what the operation returns,
/// for the caller to render as sshx.error.v1 or text; local_io when stdout cannot be written.
[[nodiscard]] Result<int> run_schema_command(const Invocation& invocation, Terminal& terminal);

}  // namespace sshx::cli
