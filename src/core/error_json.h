#pragma once

#include <string_view>

#include "core/error.h"
#include "core/json.h"

namespace sshx {

/// The contract's `error` object, its texts redacted; null without one. `retry_safety` says whether
/// sending the same request again can do harm: safe, verify_first, unsafe or unknown.
[[nodiscard]] Json error_json(const Error* error, std::string_view retry_safety);

/// For a request that never became an execution: nothing ran, so a retry is safe.
inline constexpr std::string_view kNothingRan = "safe";

}  // namespace sshx
