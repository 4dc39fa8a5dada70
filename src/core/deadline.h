#pragma once

#include <chrono>

namespace sshx {

/// Monotonic time, which no clock change moves.
using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// The deadline that never comes.
inline constexpr Deadline kNoDeadline = Deadline::max();

/// `seconds` after `start`.
[[nodiscard]] inline Deadline after(double seconds, Deadline start) {
  return start +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// `seconds` from now.
[[nodiscard]] inline Deadline after(double seconds) { return after(seconds, Clock::now()); }

[[nodiscard]] inline bool passed(Deadline deadline) { return Clock::now() >= deadline; }

/// Whole milliseconds between two points of monotonic time.
[[nodiscard]] inline long long milliseconds_between(Deadline from, Deadline to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

}  // namespace sshx
