#include "mcp/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "core/file.h"

namespace sshx::mcp {
namespace {

constexpr std::size_t kReadSize = 64UL * 1024;
/// Of a child that ends before it became the program; its parent tells this from an end of the
/// program itself.
constexpr int kNotExecuted = 127;

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};

Result<PipeEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("make", "a pipe", errno);
  return PipeEnds{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  // execve(2) takes pointers to non-const and does not write through them.
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// What the child needs between fork and exec, made before the fork: between them nothing may
/// allocate.
struct Launch {
  const char* path;
  char* const* arguments;
  char* const* environment;
  std::array<int, 3> streams;
  int failure;  ///< Takes the errno of a program that cannot be executed; closed by one that can.
  pid_t parent;
};

/// Keeps every signal from this thread while it lives. What is forked meanwhile must not run this
/// process's handlers: they would tell the parent of a signal that was the child's, and the child
/// would survive it.
class SignalPause {
 public:
  SignalPause() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;

  ~SignalPause() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// A child is not to live with what this process, or whoever started it, ignores or blocks.
void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  // Those that cannot be changed have their default.
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// In the child: never returns.
[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have ended before that was asked for.
  if (::getppid() != launch.parent) ::_exit(kNotExecuted);
  for (int number = 0; number < 3; ++number)
    ::dup2(launch.streams[static_cast<std::size_t>(number)], number);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  reset_signals();
  ::execve(launch.path, launch.arguments, launch.environment);
  const int error_number = errno;
  [[maybe_unused]] const auto told = ::write(launch.failure, &error_number, sizeof error_number);
  ::_exit(kNotExecuted);
}

/// Why the child became no program; 0 when it did, or was ended before it could.
int exec_failure(const UniqueFd& told) {
  int error_number = 0;
  ssize_t count = 0;
  do {
    count = ::read(told.get(), &error_number, sizeof error_number);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof error_number) ? error_number : 0;
}

Result<pid_t> launch(const Program& program, std::array<int, 3> streams, const UniqueFd& failure) {
  const auto arguments = pointers(program.arguments);
  const auto environment = pointers(program.environment);
  const Launch made{program.path.c_str(), arguments.data(), environment.data(), streams,
                    failure.get(),        ::getpid()};
  const SignalPause pause;
  const pid_t pid = ::fork();
  if (pid == 0) become(made);
  if (pid < 0) return io_error("start", program.path, errno);
  // Both sides do it, so that neither can come too late.
  ::setpgid(pid, pid);
  return pid;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

/// The parent's ends of the pipes; outlives the child while reads and writes are under way.
struct ChildProcess::Streams : std::enable_shared_from_this<ChildProcess::Streams> {
  Streams(asio::io_context& context, UniqueFd input_end, UniqueFd output_end, UniqueFd error_end,
          std::string bytes, Wakeup& wakeup, Receive receiver)
      : input(context, input_end.release()), output(context, output_end.release()),
        error(context, error_end.release()), input_bytes(std::move(bytes)), changed(&wakeup),
        receive(std::move(receiver)) {}

  void begin() {
    read(ChildStream::standard_output);
    read(ChildStream::standard_error);
    asio::async_write(input, asio::buffer(input_bytes),
                      [self = shared_from_this()](asio::error_code, std::size_t) {
                        // A child that reads no further has its reasons; its answer tells them.
                        asio::error_code ignored;
                        self->input.close(ignored);
                        self->input_bytes = {};
                      });
  }

  void read(ChildStream stream) {
    const auto index = static_cast<std::size_t>(stream);
    auto& source = stream == ChildStream::standard_output ? output : error;
    source.async_read_some(
        asio::buffer(buffers[index]),
        [self = shared_from_this(), stream](asio::error_code failed, std::size_t count) {
          self->took(stream, failed, count);
        });
  }

  void took(ChildStream stream, asio::error_code failed, std::size_t count) {
    // Whoever started the child has lost interest.
    if (changed == nullptr) return;
    const auto index = static_cast<std::size_t>(stream);
    ended[index] = static_cast<bool>(failed);
    if (!failed) {
      receive(stream, std::string_view(buffers[index].data(), count));
      read(stream);
    }
    changed->notify();
  }

  void abandon() {
    changed = nullptr;
    asio::error_code ignored;
    input.close(ignored);
    output.close(ignored);
    error.close(ignored);
  }

  asio::posix::stream_descriptor input;
  asio::posix::stream_descriptor output;
  asio::posix::stream_descriptor error;
  std::string input_bytes;
  Wakeup* changed;
  Receive receive;
  std::array<std::array<char, kReadSize>, 2> buffers{};
  std::array<bool, 2> ended{};
};

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(asio::io_context& context,
                                                          const Program& program, std::string input,
                                                          Wakeup& changed, Receive receive) {
  SSHX_TRY(auto in, make_pipe());
  SSHX_TRY(auto out, make_pipe());
  SSHX_TRY(auto err, make_pipe());
  SSHX_TRY(auto failure, make_pipe());
  SSHX_TRY(const pid_t pid,
           launch(program, {in.read.get(), out.write.get(), err.write.get()}, failure.write));
  failure.write = UniqueFd();
  if (const int error_number = exec_failure(failure.read); error_number != 0) {
    reap(pid);
    return io_error("execute", program.path, error_number);
  }
  auto streams =
      std::make_shared<Streams>(context, std::move(in.write), std::move(out.read),
                                std::move(err.read), std::move(input), changed, std::move(receive));
  streams->begin();
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::move(streams)));
}

ChildProcess::ChildProcess(pid_t pid, std::shared_ptr<Streams> streams)
    : pid_(pid), streams_(std::move(streams)) {}

ChildProcess::~ChildProcess() {
  streams_->abandon();
  if (end_) return;
  kill_group();
  reap(pid_);
}

const std::optional<ChildEnd>& ChildProcess::look() {
  siginfo_t info{};
  // Left a zombie at first, so that its group cannot be anybody else's yet.
  const bool has_ended =
      !end_ && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_;
  if (!has_ended) return end_;
  kill_group();
  reap(pid_);
  end_ = ChildEnd{info.si_status, info.si_code != CLD_EXITED};
  return end_;
}

bool ChildProcess::streams_ended() const noexcept {
  return streams_->ended[0] && streams_->ended[1];
}

void ChildProcess::terminate() const noexcept {
  if (!end_) ::kill(pid_, SIGTERM);
}

void ChildProcess::kill_group() const noexcept {
  if (!end_) ::kill(-pid_, SIGKILL);
}

}  // namespace sshx::mcp
