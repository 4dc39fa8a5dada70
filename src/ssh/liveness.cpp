#include "ssh/liveness.h"

namespace sshx::ssh {

void Liveness::heard(Deadline when) noexcept {
  if (when <= heard_) return;
  heard_ = when;
  probes_ = 0;
}

Deadline Liveness::next_look() const noexcept {
  if (limits_.interval_seconds <= 0) return kNoDeadline;
  const std::chrono::duration<double> silence(limits_.interval_seconds * (probes_ + 1));
  return heard_ + std::chrono::duration_cast<Clock::duration>(silence);
}

Silence Liveness::judge(Deadline now) const noexcept {
  if (now < next_look()) return Silence::acceptable;
  return probes_ < limits_.count_max ? Silence::probe_due : Silence::too_long;
}

}  // namespace sshx::ssh
