#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "exec/run_request.h"

namespace sshx::cli {

/// Carries out a run on several targets and answers with sshx.run.v1, with events, or, for people,
/// with lines that begin with the target's name. Waits for the run. Gives back the exit code.
/// Returns: local_io where the answer cannot be written.
[[nodiscard]] Result<int> run_on_many(const exec::RunRequest& run, const Presentation& presentation,
                                      Terminal& terminal);

}  // namespace sshx::cli
