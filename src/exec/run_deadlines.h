#pragma once

#include <algorithm>
#include <string>

#include "core/deadline.h"
#include "core/error.h"

namespace sshx::exec {

/// The points in time beyond which one target (host_timeout_seconds) and the whole run
/// (global_timeout_seconds) may not go, whatever a single step is allowed.
struct RunDeadlines {
  Deadline host = kNoDeadline;
  Deadline global = kNoDeadline;

  /// The earlier of the two.
  [[nodiscard]] Deadline earliest() const { return std::min(host, global); }
  /// The deadline of a step that may take until `step`.
  [[nodiscard]] Deadline within(Deadline step) const { return std::min(step, earliest()); }

  /// timeout (`host`, `global`) in `phase`: `place` ("10.0.0.5:22") is not done at the earlier one.
  [[nodiscard]] Error timeout(Phase phase, const std::string& place) const;

  /// The error of a step that had until within(`step`): where it came of the time and one of these
  /// deadlines set that time, timeout(); any other error as it stands.
  [[nodiscard]] Error named(Error error, Deadline step, const std::string& place) const;
};

}  // namespace sshx::exec
