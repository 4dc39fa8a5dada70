#pragma once

#include <string_view>

#include "core/result.h"

namespace sshx {

/// Seconds from "30s", "2m", "1h30m", "7d", "250ms", "1.5s" or plain seconds. Units go from large
/// to small, each once. Returns: config (`duration`).
[[nodiscard]] Result<double> parse_duration(std::string_view text);

/// Bytes from "512", "10K", "10KiB", "1M", "1MiB", "2G"; every unit is a power of 1024.
/// Returns: config (`size`).
[[nodiscard]] Result<long long> parse_size(std::string_view text);

}  // namespace sshx
