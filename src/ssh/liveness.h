#pragma once

#include "core/deadline.h"

namespace sshx::ssh {

/// libssh2 counts whole seconds and sends a probe at most every other one.
inline constexpr unsigned kShortestProbeSeconds = 2;

/// How a silent peer is asked whether it is still there (ssh_config's ServerAliveInterval and
/// ServerAliveCountMax).
struct LivenessLimits {
  double interval_seconds = 5;  ///< Silence that makes one probe due; 0: never ask.
  unsigned count_max = 3;       ///< This many probes without a byte in answer end the connection.
};

/// What the silence of a peer asks for now.
enum class Silence : std::uint8_t { acceptable, probe_due, too_long };

/// Judges by our own clock whether a peer is alive: anything that it sends proves it. A peer that
/// is silent but answers probes is left alone.
class Liveness {
 public:
  explicit Liveness(LivenessLimits limits) noexcept : limits_(limits) {}

  /// Tells when the peer was last heard; a later time than before forgets the probes.
  void heard(Deadline when) noexcept;
  /// A probe was sent.
  void probed() noexcept { ++probes_; }
  [[nodiscard]] Silence judge(Deadline now) const noexcept;
  /// When judge() will next say something else; never where nobody asks.
  [[nodiscard]] Deadline next_look() const noexcept;

 private:
  LivenessLimits limits_;
  Deadline heard_{};
  unsigned probes_ = 0;
};

}  // namespace sshx::ssh
