#include "cli/hidden_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/file.h"

namespace sshx::cli {
namespace {

constexpr int kLookAgainMilliseconds = 100;
constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : kEnding) sigaddset(&signals, number);
  return signals;
}

/// Keeps a terminal from showing what is typed, and ending signals from coming, while it lives.
class Hidden {
 public:
  explicit Hidden(int terminal) : terminal_(terminal) {
    const auto signals = ending_signals();
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    known_ = tcgetattr(terminal_, &shown_) == 0;
    auto hidden = shown_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHOE | ECHOK);
    hidden.c_lflag |= static_cast<tcflag_t>(ECHONL);
    if (known_) tcsetattr(terminal_, TCSAFLUSH, &hidden);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  ~Hidden() {
    if (known_) tcsetattr(terminal_, TCSAFLUSH, &shown_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  /// Whether one of the signals waits for this to end.
  [[nodiscard]] static bool interrupted() {
    sigset_t waiting;
    sigpending(&waiting);
    for (const int number : kEnding) {
      if (sigismember(&waiting, number) == 1) return true;
    }
    return false;
  }

 private:
  int terminal_;
  termios shown_{};
  sigset_t before_{};
  bool known_ = false;
};

Error declined() { return {ErrorKind::cancelled, "declined", "nothing was typed", {}}; }

/// One line, a byte at a time: what follows it is not ours to take.
Result<Secret> read_line(int terminal) {
  std::string line;
  for (;;) {
    if (Hidden::interrupted()) break;
    pollfd waited{terminal, POLLIN, 0};
    if (::poll(&waited, 1, kLookAgainMilliseconds) <= 0) continue;
    char byte = '\0';
    const auto got = ::read(terminal, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      wipe(line);
      return io_error("read", "the terminal", errno);
    }
    if (got == 0 && line.empty()) break;
    if (got == 0 || byte == '\n') return Secret(std::move(line));
    line.push_back(byte);
  }
  wipe(line);
  return declined();
}

}  // namespace

Result<Secret> ask_hidden(std::string_view question, std::string_view hint) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal) {
    return Error{ErrorKind::secret, "no_passphrase", "there is no terminal to ask on",
                 std::string(hint)};
  }
  SSHX_CHECK(write_all(terminal.get(), question, "the terminal"));
  const Hidden hidden(terminal.get());
  return read_line(terminal.get());
}

}  // namespace sshx::cli
