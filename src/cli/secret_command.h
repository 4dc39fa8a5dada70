#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sshx::cli {

/// Runs a `secret` operation: set, get, check, list or delete. `set` asks on the terminal or reads
/// stdin; `get` prints the secret itself. The others print sshx.secrets.v1 or words. Takes a
/// completed invocation; gives the exit code. Returns: what secret::open_store and the store's
/// functions return; config (`secret_text`, `not_a_pipe`), cancelled (`declined`), local_io.
[[nodiscard]] Result<int> run_secret_command(const Invocation& invocation,
                                             const Terminal& terminal);

}  // namespace sshx::cli
