#pragma once

#include <string>

#include "exec/run.h"

namespace sshx::cli {

/// A dry-run for people: where, what, with which key and trust, what is not known, and how to go
/// on.
[[nodiscard]] std::string preview_text(const exec::RunRequest& run);

}  // namespace sshx::cli
