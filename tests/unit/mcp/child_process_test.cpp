#include <gmock/gmock.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <string>
#include <vector>

#include "core/text.h"
#include "mcp/child_process.h"
#include "unit/loop/scratch.h"

namespace sshx::mcp {
namespace {

using test::kGuardSeconds;
using test::Loop;
using testing::HasSubstr;

/// A child that runs on a loop, with what it said.
class RunningChild {
 public:
  explicit RunningChild(Program program, std::string input = {})
      : changed_(loop_.context()), watch_(loop_.context(), SIGCHLD, [this] { changed_.notify(); }),
        started_(ChildProcess::start(loop_.context(), program, std::move(input), changed_,
                                     [this](ChildStream stream, std::string_view bytes) {
                                       (stream == ChildStream::standard_output ? out_ : err_) +=
                                           bytes;
                                     })) {}

  [[nodiscard]] const Result<std::unique_ptr<ChildProcess>>& started() const { return started_; }

  [[nodiscard]] ChildProcess& child() { return **started_; }

  /// Runs until it has ended and both streams were read, unless it never ends.
  ChildEnd wait() {
    loop_.run(wait_for_end());
    EXPECT_TRUE(child().look().has_value());
    return child().look().value_or(ChildEnd{});
  }

  /// Runs until it has said `text` on stdout.
  void wait_for(const std::string& text) {
    loop_.run(wait_for_text(text));
    EXPECT_THAT(out_, HasSubstr(text));
  }

  [[nodiscard]] const std::string& out() const { return out_; }

  [[nodiscard]] const std::string& err() const { return err_; }

  [[nodiscard]] Loop& loop() { return loop_; }

 private:
  Task<void> wait_for_end() {
    const auto guard = after(kGuardSeconds);
    while (!passed(guard) && !(child().look() && child().streams_ended()))
      co_await changed_.wait_until(guard);
  }

  Task<void> wait_for_text(std::string text) {
    const auto guard = after(kGuardSeconds);
    while (!passed(guard) && out_.find(text) == std::string::npos)
      co_await changed_.wait_until(guard);
  }

  Loop loop_;
  std::string out_;
  std::string err_;
  Wakeup changed_;
  SignalWatch watch_;
  Result<std::unique_ptr<ChildProcess>> started_;
};

Program program(std::vector<std::string> arguments) {
  Program result{arguments.front(), std::move(arguments), {"PATH=/usr/bin:/bin"}};
  return result;
}

Program shell(const std::string& script) { return program({"/bin/sh", "-c", script}); }

/// What a process said of itself in /proc/self/status under `name`.
std::string status_field(const std::string& status, const std::string& name) {
  for (const auto& line : split(status, '\n')) {
    if (line.starts_with(name + ":")) return std::string(trim(line.substr(name.size() + 1)));
  }
  return "<none>";
}

/// Whether the process of that number ends, or has ended.
bool ends(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno == ESRCH;
  return test::wait_readable(process.get());
}

TEST(ChildProcessTest, GetsItsInputAndTheEndOfIt) {
  RunningChild cat(program({"/bin/cat"}), "the request");
  EXPECT_TRUE(cat.wait().is_success());
  EXPECT_EQ(cat.out(), "the request");
  EXPECT_EQ(cat.err(), "");
}

TEST(ChildProcessTest, TakesInputBeyondAnyPipeAndAnswersAsLarge) {
  const std::string large(8UL * 1024 * 1024, 'x');
  RunningChild cat(program({"/bin/cat"}), large);
  EXPECT_TRUE(cat.wait().is_success());
  EXPECT_TRUE(cat.out() == large);
}

TEST(ChildProcessTest, NeedNotReadItsInput) {
  RunningChild child(shell("exec 0<&-; echo said; exit 3"), std::string(8UL * 1024 * 1024, 'x'));
  const auto end = child.wait();
  EXPECT_EQ(end.status, 3);
  EXPECT_FALSE(end.signaled);
  EXPECT_EQ(child.out(), "said\n");
}

TEST(ChildProcessTest, KeepsItsTwoStreamsApart) {
  RunningChild child(shell("echo out; echo err >&2"));
  EXPECT_TRUE(child.wait().is_success());
  EXPECT_EQ(child.out(), "out\n");
  EXPECT_EQ(child.err(), "err\n");
}

TEST(ChildProcessTest, HasTheArgumentsAndTheEnvironmentItWasGivenAndNoOther) {
  auto given =
      program({"/usr/bin/printf", "[%s]", "", "-n", "--force", "a\nb", "$(id)", "\xff'\""});
  RunningChild printf(given);
  EXPECT_TRUE(printf.wait().is_success());
  EXPECT_EQ(printf.out(), "[][-n][--force][a\nb][$(id)][\xff'\"]");
  const test::Variable leak("SSHX_TEST_LEAK", "1");
  Program env{"/usr/bin/env", {"env"}, {"A=1", "B=two words"}};
  RunningChild child(env);
  EXPECT_TRUE(child.wait().is_success());
  EXPECT_EQ(child.out(), "A=1\nB=two words\n");
}

TEST(ChildProcessTest, TellsASignalFromAStatus) {
  RunningChild child(shell("kill -KILL $$"));
  const auto end = child.wait();
  EXPECT_TRUE(end.signaled);
  EXPECT_EQ(end.status, SIGKILL);
  EXPECT_FALSE(end.is_success());
}

TEST(ChildProcessTest, AProgramThatCannotBeExecutedIsNotStarted) {
  const test::ScratchFolder folder;
  test::write_file(folder.file("plain"), "no program", 0600);
  test::write_file(folder.file("odd"), "\x01\x02", 0700);
  test::write_file(folder.file("orphan"), "#!/no/such/interpreter\n", 0700);
  for (const auto& path : {folder.file("missing"), folder.file("odd"), folder.file("orphan"),
                           folder.path().string(), std::string()}) {
    const RunningChild child(program({path}), std::string(1024UL * 1024, 'x'));
    ASSERT_FALSE(child.started().has_value()) << path;
    EXPECT_EQ(child.started().error().kind, ErrorKind::local_io) << path;
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcessTest, AStatusOf127IsAnEndLikeAnyOther) {
  RunningChild child(shell("exit 127"));
  ASSERT_TRUE(child.started().has_value());
  EXPECT_EQ(child.wait().status, 127);
}

TEST(ChildProcessTest, InheritsNoOtherDescriptor) {
  const UniqueFd leak(::open("/dev/null", O_RDONLY));
  const UniqueFd high(::fcntl(leak.get(), F_DUPFD, 200));
  RunningChild ls(program({"/bin/ls", "/proc/self/fd"}));
  EXPECT_TRUE(ls.wait().is_success());
  // 3 is the folder that it reads.
  EXPECT_EQ(ls.out(), "0\n1\n2\n3\n");
}

TEST(ChildProcessTest, HasDefaultSignalDispositionsAndNoneBlocked) {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignored, &before), 0);
  sigset_t blocked;
  sigset_t mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigaddset(&blocked, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &mask), 0);
  RunningChild cat(program({"/bin/cat", "/proc/self/status"}));
  sigset_t after_start;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &mask, &after_start), 0);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(::sigismember(&after_start, SIGTERM), 1) << "the parent's own mask was lost";
  EXPECT_EQ(::sigismember(&after_start, SIGINT), 0) << "the parent's own mask was changed";
  EXPECT_TRUE(cat.wait().is_success());
  for (const auto* field : {"SigIgn", "SigBlk", "SigCgt"}) {
    EXPECT_EQ(status_field(cat.out(), field), "0000000000000000") << field;
  }
}

TEST(ChildProcessTest, HasAProcessGroupOfItsOwn) {
  RunningChild cat(program({"/bin/cat", "/proc/self/stat"}));
  EXPECT_TRUE(cat.wait().is_success());
  const auto fields = split(cat.out(), ' ');
  ASSERT_GT(fields.size(), 5U);
  EXPECT_EQ(fields[4], fields[0]);
  EXPECT_NE(fields[4], std::to_string(::getpgrp()));
}

TEST(ChildProcessTest, IsEndedBySigtermFromItsFirstMoment) {
  for (int i = 0; i < 30; ++i) {
    Loop loop;
    const TerminationSignals signals(loop.context(), loop.cancellation());
    RunningChild child(program({"/bin/sleep", "1000"}));
    ASSERT_TRUE(child.started().has_value());
    child.child().terminate();
    const auto end = child.wait();
    EXPECT_TRUE(end.signaled);
    EXPECT_EQ(end.status, SIGTERM);
    loop.context().poll();
    ASSERT_FALSE(loop.cancellation().requested()) << "the child's signal counted for its parent";
  }
}

TEST(ChildProcessTest, TerminateAsksTheChildAlone) {
  RunningChild child(shell("sleep 1000 & trap 'echo asked; kill -0 $! && echo there; exit 0' "
                           "TERM; echo $! ready; wait"));
  child.wait_for("ready");
  child.child().terminate();
  EXPECT_TRUE(child.wait().is_success());
  EXPECT_THAT(child.out(), HasSubstr("asked\nthere\n"));
  EXPECT_TRUE(ends(std::stoi(child.out()))) << "what it left in its group";
}

TEST(ChildProcessTest, KillEndsTheWholeGroupAlsoWhatIgnoresSigterm) {
  RunningChild child(shell("trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! ready; wait"));
  child.wait_for("ready");
  child.child().terminate();
  EXPECT_FALSE(child.child().look().has_value());
  child.child().kill_group();
  EXPECT_EQ(child.wait().status, SIGKILL);
  EXPECT_TRUE(ends(std::stoi(child.out())));
}

TEST(ChildProcessTest, IsGoneWithItsGroupWhenNobodyWantsItAnyMore) {
  pid_t grandchild = 0;
  {
    RunningChild child(
        shell("trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! ready; wait"));
    child.wait_for("ready");
    grandchild = std::stoi(child.out());
  }
  EXPECT_TRUE(ends(grandchild));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcessTest, SignalsAfterItsEndHitNobody) {
  RunningChild child(shell("exit 0"));
  EXPECT_TRUE(child.wait().is_success());
  child.child().terminate();
  child.child().kill_group();
  EXPECT_TRUE(child.child().look()->is_success());
}

/// In a process of its own: a parent that starts a child, tells its number and is killed.
[[noreturn]] void start_and_die(int told) {
  Loop loop;
  Wakeup changed(loop.context());
  auto child = ChildProcess::start(loop.context(), program({"/bin/sleep", "1000"}), {}, changed,
                                   [](ChildStream, std::string_view) {});
  // Its number is what the kernel says of this process's children.
  const auto children =
      test::read_text("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  [[maybe_unused]] const auto written = ::write(told, children.data(), children.size());
  ::raise(SIGKILL);
  ::_exit(1);
}

TEST(ChildProcessTest, EndsWhenItsParentIsKilled) {
  // So that the orphan is reaped here.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  auto pipe = test::make_pipe();
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) start_and_die(pipe.write_end.get());
  pipe.write_end = UniqueFd();
  const auto told = test::read_to_end(pipe.read_end.get());
  ASSERT_FALSE(told.empty());
  const pid_t orphan = std::stoi(told);
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(ends(orphan));
  ASSERT_EQ(::waitpid(orphan, &status, 0), orphan);
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

}  // namespace
}  // namespace sshx::mcp
