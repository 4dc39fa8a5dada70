#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>

#include <chrono>
#include <cstdlib>

#include "cli/columns.h"
#include "cli/status_line.h"
#include "core/file.h"

namespace sshx::cli {
namespace {

using namespace std::chrono_literals;

constexpr Clock::time_point kStart{};

TEST(ColumnsTest, CountsCharactersAndCutsNone) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("a\xC3\xA9z"), 3U);
  EXPECT_EQ(cut_to_columns("a\xC3\xA9z", 2), "a\xC3\xA9");
  EXPECT_EQ(cut_to_columns("a\xC3\xA9z", 1), "a");
  EXPECT_EQ(cut_to_columns("a\xC3\xA9z", 3), "a\xC3\xA9z");
  EXPECT_EQ(cut_to_columns("a", 0), "");
}

TEST(StatusTextTest, SaysHowFarTheRunIs) {
  const Progress progress{200, 12, 1, 16, RunningTarget{"web-7", 12}};
  EXPECT_EQ(status_text(progress, 100), "12/200 done, 1 failed, 16 running; slowest web-7 (12 s)");
}

TEST(StatusTextTest, LeavesOutWhatThereIsNone) {
  EXPECT_EQ(status_text({.total = 3}, 100), "0/3 done, 0 running");
  EXPECT_EQ(status_text({3, 3, 0, 0, std::nullopt}, 100), "3/3 done, 0 running");
  EXPECT_EQ(status_text({3, 3, 2, 0, std::nullopt}, 100), "3/3 done, 2 failed, 0 running");
}

TEST(StatusTextTest, LeavesTheLastColumnFree) {
  const Progress progress{3, 1, 0, 1, RunningTarget{"w\xC3\xA9", 1}};
  const std::string whole = "1/3 done, 1 running; slowest w\xC3\xA9 (1 s)";
  EXPECT_EQ(status_text(progress, 38), whole);
  EXPECT_EQ(status_text(progress, 37), whole.substr(0, whole.size() - 1));
  EXPECT_EQ(status_text(progress, 33), "1/3 done, 1 running; slowest w\xC3\xA9 ");
  EXPECT_EQ(status_text(progress, 31), "1/3 done, 1 running; slowest w");
  EXPECT_EQ(status_text(progress, 1), "");
  EXPECT_EQ(status_text(progress, 0), "");
}

TEST(StatusTextTest, ANameCannotDriveTheTerminal) {
  const Progress progress{1, 0, 0, 1, RunningTarget{"\x1b[2J", 0}};
  EXPECT_EQ(status_text(progress, 100), "0/1 done, 1 running; slowest \\x1b[2J (0 s)");
}

TEST(RunningListTest, TheSlowestComesFirst) {
  EXPECT_EQ(running_list({{"a", 3}, {"b", 12}, {"c", 3}}),
            "still running: b (12 s), a (3 s), c (3 s); Ctrl-C again to leave");
  EXPECT_EQ(running_list({}), "");
}

TEST(RunningListTest, ALongOneIsCutAndSaysSo) {
  std::vector<RunningTarget> targets;
  std::string names;
  for (int i = 0; i < 18; ++i) {
    targets.push_back({"t" + std::to_string(i), 100 - i});
    if (i < 16)
      names += (i == 0 ? "t0 (100 s)"
                       : ", t" + std::to_string(i) + " (" + std::to_string(100 - i) + " s)");
  }
  EXPECT_EQ(running_list(targets),
            "still running: " + names + " and 2 more; Ctrl-C again to leave");
}

/// A terminal of its own.
class Pty {
 public:
  Pty() : main_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(::grantpt(main_.get()), 0);
    EXPECT_EQ(::unlockpt(main_.get()), 0);
    terminal_ = UniqueFd(::open(::ptsname(main_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  }

  [[nodiscard]] int descriptor() const { return terminal_.get(); }

  void resize(unsigned short columns) const {
    winsize size{};
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(main_.get(), TIOCSWINSZ, &size), 0);
  }

 private:
  UniqueFd main_;
  UniqueFd terminal_;
};

TEST(StatusColumnsTest, AreThoseOfATerminalOnly) {
  const Pty pty;
  EXPECT_EQ(status_columns(Notes::shown, pty.descriptor()), 80U);
  pty.resize(132);
  EXPECT_EQ(status_columns(Notes::shown, pty.descriptor()), 132U);
  EXPECT_EQ(status_columns(Notes::hidden, pty.descriptor()), std::nullopt);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(status_columns(Notes::shown, null.get()), std::nullopt);
}

TEST(StatusLineTest, ShowsTheSlowestAndEachEndAtOnce) {
  StatusLine line(3, 100);
  line.started("a", kStart);
  line.started("b", kStart + 1s);
  EXPECT_EQ(line.tick(kStart + 2s), "\r0/3 done, 2 running; slowest a (2 s)");
  EXPECT_EQ(line.finished("a", false, kStart + 2001ms),
            "\r1/3 done, 1 failed, 1 running; slowest b (1 s)");
  // Refused before it was started.
  EXPECT_EQ(line.finished("c", false, kStart + 2002ms),
            "\r2/3 done, 2 failed, 1 running; slowest b (1 s)");
  EXPECT_EQ(line.finished("b", true, kStart + 2003ms),
            "\r3/3 done, 2 failed, 0 running" + std::string(17, ' '));
}

TEST(StatusLineTest, RedrawsFiveTimesASecondAtMostAndOnlyWhatChanged) {
  StatusLine line(2, 100);
  line.started("a", kStart);
  EXPECT_EQ(line.tick(kStart), "\r0/2 done, 1 running; slowest a (0 s)");
  line.started("b", kStart);
  EXPECT_EQ(line.tick(kStart + 199ms), "");
  EXPECT_EQ(line.tick(kStart + 200ms), "\r0/2 done, 2 running; slowest a (0 s)");
  EXPECT_EQ(line.tick(kStart + 900ms), "");
  EXPECT_EQ(line.tick(kStart + 1100ms), "\r0/2 done, 2 running; slowest a (1 s)");
}

TEST(StatusLineTest, GivesWayToOtherLines) {
  StatusLine line(1, 100);
  EXPECT_EQ(line.clear(), "");
  line.started("a", kStart);
  const auto drawn = line.tick(kStart);
  EXPECT_EQ(line.clear(), "\r" + std::string(drawn.size() - 1, ' ') + "\r");
  EXPECT_EQ(line.clear(), "");
  EXPECT_EQ(line.tick(kStart + 200ms), drawn);
}

TEST(StatusLineTest, KeepsToTheTerminalsWidth) {
  StatusLine line(1, 12);
  line.started("a", kStart);
  EXPECT_EQ(line.tick(kStart), "\r0/1 done, 1");
  line.resize(9);
  EXPECT_EQ(line.tick(kStart + 1s), "");
  EXPECT_EQ(line.clear(), "\r" + std::string(8, ' ') + "\r");
  line.resize(20);
  EXPECT_EQ(line.tick(kStart + 2s), "\r0/1 done, 1 running");
}

TEST(StatusLineTest, WithoutATerminalThereIsNothing) {
  StatusLine line(2, std::nullopt);
  line.started("a", kStart);
  line.started("b", kStart + 1s);
  line.resize(100);
  EXPECT_EQ(line.tick(kStart + 5s), "");
  EXPECT_EQ(line.finished("a", true, kStart + 5s), "");
  EXPECT_EQ(line.clear(), "");
  const auto running = line.running(kStart + 5s);
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running.front().name, "b");
  EXPECT_EQ(running.front().seconds, 4);
}

}  // namespace
}  // namespace sshx::cli
