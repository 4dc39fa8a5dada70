#include "core/parent_death.h"

#include <sys/prctl.h>
#include <unistd.h>

namespace sshx {
namespace {

// Asked before main begins: the sooner, the more surely it is the process that started this one.
const pid_t kParentAtStart = ::getppid();

}  // namespace

void die_with_parent() noexcept {
  // What was ignored or blocked when this program was started would never come.
  static_cast<void>(std::signal(kParentDeathSignal, SIG_DFL));
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, kParentDeathSignal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::prctl(PR_SET_PDEATHSIG, kParentDeathSignal);
  // An end before that call sends nothing any more.
  if (parent_has_ended()) static_cast<void>(std::raise(kParentDeathSignal));
}

bool parent_has_ended() noexcept { return ::getppid() != kParentAtStart; }

}  // namespace sshx
