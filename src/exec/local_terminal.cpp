#include "exec/local_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace sshx::exec {

LocalTerminal::LocalTerminal() {
  termios current{};
  if (::tcgetattr(STDIN_FILENO, &current) != 0) return;
  before_ = current;
  ::cfmakeraw(&current);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &current);
}

LocalTerminal::~LocalTerminal() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
}

ssh::TerminalSize LocalTerminal::size() const {
  winsize measured{};
  if (!before_ || ::ioctl(STDIN_FILENO, TIOCGWINSZ, &measured) != 0) return {};
  if (measured.ws_col == 0 || measured.ws_row == 0) return {};
  return {measured.ws_col, measured.ws_row};
}

std::string LocalTerminal::type() {
  const char* type = std::getenv("TERM");
  return type != nullptr && *type != '\0' ? type : "dumb";
}

}  // namespace sshx::exec
