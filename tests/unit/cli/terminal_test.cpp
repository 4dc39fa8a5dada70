#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "cli/terminal.h"
#include "core/file.h"

namespace sshx::cli {
namespace {

/// Puts another file in the place of a standard descriptor while it lives.
class Redirected {
 public:
  Redirected(int fd, int replacement) : fd_(fd), saved_(dup(fd)) { dup2(replacement, fd); }

  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  ~Redirected() { dup2(saved_.get(), fd_); }

 private:
  int fd_;
  UniqueFd saved_;
};

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) abort();
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }

  std::string drain() {
    writer = UniqueFd();
    return *read_all(reader.get(), 65536, "pipe");
  }

  UniqueFd reader;
  UniqueFd writer;
};

template <class Action>
std::string written_to(int fd, const Action& action) {
  Pipe pipe;
  {
    const Redirected redirected(fd, pipe.writer.get());
    action();
  }
  return pipe.drain();
}

TEST(Terminal, WritesAnswersAsTheyStand) {
  Terminal terminal(Notes::hidden);
  const std::string bytes("a\0\x1b\xff\n", 5);
  EXPECT_EQ(written_to(STDOUT_FILENO, [&] { EXPECT_TRUE(terminal.out(bytes)); }), bytes);
}

TEST(Terminal, MarksAndCleansWordsForPeople) {
  const Terminal terminal(Notes::shown);
  EXPECT_EQ(written_to(STDERR_FILENO, [&] { terminal.note("red \x1b[31m"); }),
            "sshx: red \\x1b[31m\n");
}

TEST(Terminal, HidesNotesButNothingElseWhenQuiet) {
  const Terminal terminal(Notes::hidden);
  EXPECT_EQ(written_to(STDERR_FILENO, [&] { terminal.note("note"); }), "");
  EXPECT_EQ(written_to(STDERR_FILENO, [&] { terminal.warn("warning"); }), "sshx: warning\n");
  EXPECT_EQ(
      written_to(STDERR_FILENO, [&] { terminal.report(config_error("usage", "wrong", "do so")); }),
      "sshx: wrong\nsshx: hint: do so\n");
}

TEST(Terminal, TellsAReaderThatWentAwayAndSaysNothingOfIt) {
  ASSERT_TRUE(prepare_standard_streams());
  Terminal terminal(Notes::shown);
  Pipe pipe;
  pipe.reader = UniqueFd();
  Status status;
  {
    const Redirected redirected(STDOUT_FILENO, pipe.writer.get());
    status = terminal.out("text");
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "broken_pipe");
  EXPECT_EQ(written_to(STDERR_FILENO, [&] { terminal.report(status.error()); }), "");
}

TEST(Terminal, TellsAFullDisk) {
  Terminal terminal(Notes::shown);
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  Status status;
  {
    const Redirected redirected(STDOUT_FILENO, full.get());
    status = terminal.out("text");
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "no_space");
}

TEST(Terminal, TakesOneLineAsTheAnswer) {
  const Terminal terminal(Notes::shown);
  Pipe input;
  ASSERT_TRUE(write_all(input.writer.get(), "yes\nrest", "pipe"));
  const Redirected redirected(STDIN_FILENO, input.reader.get());
  EXPECT_FALSE(terminal.can_ask());
  Result<std::string> answer = std::string();
  EXPECT_EQ(written_to(STDERR_FILENO, [&] { answer = terminal.ask("Sure? "); }), "Sure? ");
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "yes");
  EXPECT_EQ(input.drain(), "rest");
}

TEST(PrepareStandardStreams, FillsTheGapsWithDevNull) {
  EXPECT_EXIT(
      {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        const bool ready = prepare_standard_streams().has_value();
        const bool filled =
            ready && fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0;
        const UniqueFd next(open("/dev/null", O_RDONLY));
        _exit(filled && next.get() > STDERR_FILENO ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sshx::cli
