#pragma once

#include <string>

#include "exec/plan.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// What became of a command that was stopped before its own end.
enum class Ending : std::uint8_t {
  terminated,  ///< Seen: its process groups are gone.
  running,     ///< Seen: some of its processes outlived every signal.
  exited,      ///< Seen: it had ended by itself.
  unknown
};

/// How it was found out, or why it was not.
struct Termination {
  Ending ending = Ending::unknown;
  std::string reason;  ///< For people; empty where there is nothing to add.
};

/// Ends what `channel` runs, and proves it where that can be done, within 2.5 s (design §7): a
/// signal through the protocol, then a second session of this very connection that signals the
/// process groups below its sshd and looks again. That session is opened only to an OpenSSH server,
/// whose processes it knows, and only where it cannot run something else instead: the server took
/// the signal, which it refuses for forced commands, or the login is root's, for whom OpenSSH
/// refuses every signal, and no forced command was announced.
/// The cancellation that led here is acknowledged: a further signal ends the wait at once.
[[nodiscard]] Task<Termination> terminate(Runtime runtime, ssh::Connection& connection,
                                          ssh::Channel& channel, std::string user,
                                          SecondChannel second);

/// The command of the second session, for any login shell. It sends each signal of `steps` ("INT
/// TERM KILL"; "-" waits without one) to the process groups below its parent, waits up to 0.4 s
/// after each, and prints "sshx:NONCE:seen" (all are seen to be gone), "sshx:NONCE:left" or
/// "sshx:NONCE:unseen" (it cannot see enough to tell). Start-up files may print around it.
[[nodiscard]] std::string termination_command(const std::string& nonce, const std::string& steps);

}  // namespace sshx::exec
