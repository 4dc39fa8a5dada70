#pragma once

// What the tests of the rooms loop, ssh, exec and mcp share: folders, keys, agents and a loop of
// their own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/file.h"
#include "loop/loop.h"
#include "unit/core/scratch_folder.h"
#include "unit/core/variable.h"

namespace sshx::test {

/// Long enough that only a defect reaches it; no test's outcome depends on its length.
inline constexpr double kGuardSeconds = 60;
/// For what is known to never come.
inline constexpr double kShortSeconds = 0.2;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

inline Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// A pipe that nobody reads and that takes no further byte.
struct FullPipe {
  FullPipe() : ends(make_pipe()) {
    const int writing = ends.write_end.get();
    EXPECT_EQ(fcntl(writing, F_SETFL, O_NONBLOCK), 0);
    const std::string page(4096, 'p');
    for (const std::size_t step : {page.size(), std::size_t{1}}) {
      while (write(writing, page.data(), step) > 0) held += step;
    }
    EXPECT_EQ(fcntl(writing, F_SETFL, 0), 0);
  }

  Pipe ends;
  std::size_t held = 0;
};

/// Fails the test unless `descriptor` becomes readable.
inline bool wait_readable(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, static_cast<int>(kGuardSeconds * 1000));
  } while (ready < 0 && errno == EINTR);
  EXPECT_EQ(ready, 1) << "nothing came";
  return ready == 1;
}

inline std::string read_to_end(int descriptor) {
  std::string all;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

inline void write_file(const std::filesystem::path& path, std::string_view text,
                       mode_t mode = 0600) {
  EXPECT_TRUE(replace_file(path, text).has_value()) << path;
  EXPECT_EQ(chmod(path.c_str(), mode), 0) << path;
}

inline std::string read_text(const std::filesystem::path& path) {
  auto text = read_file(path, std::size_t{1} << 24U);
  EXPECT_TRUE(text.has_value()) << path;
  return text.has_value() ? *text : std::string();
}

inline std::vector<char*> argument_pointers(std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Another program whose stdout is read here. Ended, if need be, at the end of its life.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    Pipe out = make_pipe();
    auto pointers = argument_pointers(arguments);
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ == 0) {
      dup2(out.write_end.get(), STDOUT_FILENO);
      execvp(pointers[0], pointers.data());
      _exit(127);
    }
    out_ = std::move(out.read_end);
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] int output() const { return out_.get(); }

  /// Its exit status; 128+n after signal n.
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd out_;
};

/// Runs a program to its end and gives back its stdout; anything but exit status 0 fails the test.
inline std::string run_program(std::vector<std::string> arguments) {
  const std::string name = arguments[0] + " " + arguments[1];
  Program program(std::move(arguments));
  std::string out = read_to_end(program.output());
  EXPECT_EQ(program.wait(), 0) << name;
  return out;
}

struct KeyOptions {
  std::string type = "ed25519";
  std::string bits = {};
  /// "RFC4716" is OpenSSH's own format, beside "PEM" and "PKCS8".
  std::string format = "RFC4716";
  std::string passphrase = {};
};

/// A new key pair in `path` and `path`.pub, with the file's name as its comment.
inline void make_key(const std::string& path, const KeyOptions& options = {}) {
  std::vector<std::string> arguments{"ssh-keygen", "-q",
                                     "-t",         options.type,
                                     "-m",         options.format,
                                     "-N",         options.passphrase,
                                     "-C",         std::filesystem::path(path).filename().string(),
                                     "-f",         path};
  if (!options.bits.empty()) {
    arguments.insert(arguments.end(), {"-b", options.bits});
  }
  run_program(std::move(arguments));
}

/// A real ssh-agent on a private socket.
class SshAgent {
 public:
  explicit SshAgent(std::string socket)
      : socket_(std::move(socket)), program_({"ssh-agent", "-D", "-a", socket_}) {
    // It prints the socket's name once it listens.
    EXPECT_TRUE(wait_readable(program_.output()));
  }

  [[nodiscard]] const std::string& socket() const { return socket_; }

  void add(const std::string& key_path) const {
    const Variable agent("SSH_AUTH_SOCK", socket_);
    run_program({"ssh-add", "-q", key_path});
  }

 private:
  std::string socket_;
  Program program_;
};

/// A listening Unix socket, or nothing (and a failed test).
inline UniqueFd listen_on(const std::string& path) {
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listener.get(), 8), 0);
  return listener;
}

/// One operation's event loop.
class Loop {
 public:
  [[nodiscard]] asio::io_context& context() { return context_; }

  [[nodiscard]] Cancellation& cancellation() { return cancellation_; }

  [[nodiscard]] Runtime runtime() { return {context_, cancellation_}; }

  template <class T>
  T run(Task<T> task) {
    return run_to_end(context_, std::move(task));
  }

  /// The same for a task without a value.
  void run(Task<void> task) { (void)run(counted(std::move(task))); }

 private:
  static Task<int> counted(Task<void> task) {
    co_await std::move(task);
    co_return 0;
  }

  asio::io_context context_;
  Cancellation cancellation_;
};

/// For what a thread does and tells of.
class SignalledTest : public testing::Test {
 protected:
  SignalledTest() : changed_(ThreadSignal::make().value()) { signal(SIGPIPE, SIG_IGN); }

  [[nodiscard]] const std::shared_ptr<ThreadSignal>& changed() const { return changed_; }

  /// Sleeps on the signal until `condition` holds; a failed test if the signal stays away.
  template <class Condition>
  bool wait_until(Condition condition) const {
    while (!condition()) {
      if (!wait_readable(changed_->descriptor())) return false;
      changed_->clear();
    }
    return true;
  }

 private:
  std::shared_ptr<ThreadSignal> changed_;
};

/// "kind/code" of what failed; "ok" otherwise.
template <class T>
std::string outcome_of(const Result<T>& result) {
  if (result.has_value()) return "ok";
  return std::string(to_string(result.error().kind)) + "/" + result.error().code;
}

}  // namespace sshx::test
