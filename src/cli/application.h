#pragma once

#include <span>
#include <string>

namespace sshx::cli {

/// Runs sshx: reads the arguments (without the program's name), hands the request to its operation
/// and answers. The one place where errors become documents or text, and where an exception, which
/// is a bug, becomes `internal`. Gives the process's exit code. Waits as long as the operation
/// does.
[[nodiscard]] int run_application(std::span<const std::string> arguments);

}  // namespace sshx::cli
