#pragma once

#include <string_view>

#include "core/result.h"
#include "core/secret.h"

namespace sshx::cli {

/// Asks on the controlling terminal, wherever the standard streams go, and waits for one line,
/// which is not shown. A signal that ends a process does so once the terminal is as it was.
/// Returns: secret
/// (`no_passphrase`: there is no terminal; `hint` says what else to do), local_io (`io`), cancelled
/// (`declined`: end of file instead of a line).
[[nodiscard]] Result<Secret> ask_hidden(std::string_view question, std::string_view hint);

}  // namespace sshx::cli
