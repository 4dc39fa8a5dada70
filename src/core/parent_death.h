#pragma once

#include <csignal>

namespace sshx {

/// What the kernel sends when the process that started this one ends, once die_with_parent() asked
/// for it. A signal of its own, since a parent's end is no second request of somebody who does not
/// want to wait. Its default action ends the process, which is right until something was started.
inline constexpr int kParentDeathSignal = SIGUSR1;

/// Asks the kernel for that signal (prctl(2), PR_SET_PDEATHSIG), with its default action. Where the
/// parent has ended before, it comes at once. Call before anything handles the signal.
void die_with_parent() noexcept;

/// Whether the process that started this one has ended.
[[nodiscard]] bool parent_has_ended() noexcept;

}  // namespace sshx
