#pragma once

#include <termios.h>

#include <optional>
#include <string>

#include "ssh/channel.h"

namespace sshx::exec {

/// The caller's terminal while a remote one is shown in it. Raw while this lives, if stdin is a
/// terminal: every key, Ctrl-C too, is the remote program's. Put back as it was in the end.
class LocalTerminal {
 public:
  LocalTerminal();
  LocalTerminal(const LocalTerminal&) = delete;
  LocalTerminal& operator=(const LocalTerminal&) = delete;
  ~LocalTerminal();

  /// The size of the terminal that stdin is; 80 x 24 where it is none.
  [[nodiscard]] ssh::TerminalSize size() const;
  /// $TERM; "dumb" where it is not set.
  [[nodiscard]] static std::string type();

 private:
  std::optional<termios> before_;
};

}  // namespace sshx::exec
