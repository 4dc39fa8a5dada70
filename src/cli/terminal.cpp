#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/file.h"
#include "core/redact.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

constexpr std::size_t kLongestAnswer = 1024;

/// Where answers go. As stdout itself, there is one for the whole process.
int answer_descriptor = STDOUT_FILENO;

void to_stderr(std::string_view message) {
  static_cast<void>(write_all(STDERR_FILENO, Terminal::line(message), "standard error"));
}

}  // namespace

Status prepare_standard_streams() {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  // A file-size limit is an error of write(2), too.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one, since those below are open by now.
    if (open("/dev/null", O_RDWR) < 0) return io_error("open", "/dev/null", errno);
  }
  return {};
}

Status claim_standard_output() {
  const int claimed = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (claimed < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return io_error("keep", "standard output", errno);
  }
  answer_descriptor = claimed;
  return {};
}

int Terminal::output_descriptor() noexcept { return answer_descriptor; }

Status Terminal::out(std::string_view text) {
  auto written = write_all(answer_descriptor, text, "standard output");
  if (!written && errno == EPIPE) written.error().code = "broken_pipe";
  return written;
}

std::string Terminal::line(std::string_view message) {
  return fmt::format("sshx: {}\n", printable(message));
}

void Terminal::note(std::string_view message) const {
  if (notes_ == Notes::shown) to_stderr(message);
}

void Terminal::warn(std::string_view message) { to_stderr(message); }

void Terminal::report(const Error& error) {
  if (error.code == "broken_pipe") return;
  to_stderr(redact(error.message));
  if (!error.hint.empty()) to_stderr("hint: " + redact(error.hint));
}

void Terminal::draw(std::string_view text) {
  if (!text.empty()) static_cast<void>(write_all(STDERR_FILENO, text, "standard error"));
}

bool Terminal::can_ask() noexcept {
  return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

Result<std::string> Terminal::ask(std::string_view question) {
  SSHX_CHECK(write_all(STDERR_FILENO, question, "standard error"));
  std::string answer;
  // A byte at a time: what follows the line is not ours to take.
  for (char c = '\0'; answer.size() < kLongestAnswer;) {
    const auto got = read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", "standard input", errno);
    if (got == 0 || c == '\n') break;
    answer.push_back(c);
  }
  return answer;
}

}  // namespace sshx::cli
