#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx {

using WallTime = std::chrono::system_clock::time_point;

/// RFC 3339 in UTC with milliseconds: 2026-12-01T01:02:03.004Z.
[[nodiscard]] std::string rfc3339(WallTime time);

/// A point in time from RFC 3339, from YYYY-MM-DD (UTC midnight), or from an age such as "2h" or
/// "7d" (before `now`). Returns: config (`time`).
[[nodiscard]] Result<WallTime> parse_time(std::string_view text, WallTime now);

}  // namespace sshx
