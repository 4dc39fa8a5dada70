#pragma once

#include <string>

#include "cli/options.h"

namespace sshx::cli {

/// What --help prints for an invocation of Action::help: the general page, the operations of a
/// group such as `host`, or one operation with all its options. At most 80 columns; ends with a
/// newline.
[[nodiscard]] std::string help_text(const Invocation& invocation);

}  // namespace sshx::cli
