#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "core/result.h"

namespace sshx::exec {

/// What a request asks to go past the safety check. There is no such check yet: it is recorded.
struct Bypass {
  bool force = false;
  bool no_safety_check = false;
  std::string reason;  ///< Redacted.
};

/// What a checked request says of its own admission; nothing without a bypass. Returns: config
/// (`not_supported` for `expect_plan`; `required` without a reason, `request_conflict` for a reason
/// alone).
[[nodiscard]] Result<std::optional<Bypass>> read_admission(const Json& request);

/// The contract's `bypass` object; null without one.
[[nodiscard]] Json bypass_json(const std::optional<Bypass>& bypass);

}  // namespace sshx::exec
