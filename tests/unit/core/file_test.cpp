#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "unit/core/scratch_folder.h"

namespace sshx {
namespace {

using sshx::test::content_of;
using sshx::test::mode_of;
using sshx::test::ScratchFolder;
using ::testing::HasSubstr;

constexpr std::size_t kLimit = 1 << 20;

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

int any_fd() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(UniqueFd, ClosesAtTheEndOfItsLife) {
  const int fd = any_fd();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovesAndReleases) {
  UniqueFd first(any_fd());
  const int fd = first.get();
  UniqueFd second(std::move(first));
  EXPECT_EQ(second.get(), fd);
  UniqueFd third(any_fd());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_EQ(third.release(), fd);
  EXPECT_FALSE(third);
  EXPECT_TRUE(is_open(fd));
  close(fd);
}

TEST(ReadFile, GivesEveryByte) {
  const ScratchFolder folder;
  const std::string bytes("a\0\xff\r\n", 5);
  EXPECT_EQ(read_file(folder.write("x", bytes), kLimit).value(), bytes);
  EXPECT_EQ(read_file(folder.write("empty", ""), kLimit).value(), "");
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const ScratchFolder folder;
  const auto file = folder.write("x", "12345");
  EXPECT_EQ(read_file(file, 5).value(), "12345");
  EXPECT_EQ(read_file(file, 4).error().code, "too_large");
}

TEST(ReadFile, SaysWhatIsMissing) {
  const ScratchFolder folder;
  const auto missing = read_file(folder / "x", kLimit);
  EXPECT_EQ(missing.error().kind, ErrorKind::local_io);
  EXPECT_EQ(missing.error().code, "not_found");
  EXPECT_THAT(missing.error().message, HasSubstr((folder / "x").string()));
}

TEST(ReadFile, RefusesWhatIsNoFileWithoutWaiting) {
  const ScratchFolder folder;
  const auto fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_file(fifo, kLimit).error().code, "not_a_file");
  EXPECT_EQ(read_file(folder.path(), kLimit).error().code, "not_a_file");
  EXPECT_EQ(read_file("/dev/zero", kLimit).error().code, "not_a_file");
}

class Pipe {
 public:
  explicit Pipe(int flags) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(pipe2(ends.data(), flags | O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }

  UniqueFd reader;
  UniqueFd writer;
};

TEST(ReadAllAndWriteAll, PassMoreThanAPipeHoldsAlsoWithoutBlocking) {
  const std::string bytes(3'000'000, 'x');
  for (const int flags : {0, O_NONBLOCK}) {
    Pipe pipe(flags);
    std::thread writing([&] {
      EXPECT_TRUE(write_all(pipe.writer.get(), bytes, "pipe"));
      pipe.writer = UniqueFd();
    });
    const auto got = read_all(pipe.reader.get(), bytes.size(), "pipe");
    writing.join();
    EXPECT_EQ(got.value().size(), bytes.size());
  }
}

TEST(ReadAll, NamesWhatWasTooLarge) {
  Pipe pipe(0);
  ASSERT_TRUE(write_all(pipe.writer.get(), "12345", "pipe"));
  const auto got = read_all(pipe.reader.get(), 4, "stdin");
  EXPECT_EQ(got.error().code, "too_large");
  EXPECT_THAT(got.error().message, HasSubstr("stdin"));
}

TEST(WriteAll, ReportsAFullDisk) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto written = write_all(full.get(), "x", "audit.db");
  EXPECT_EQ(written.error().code, "no_space");
  EXPECT_THAT(written.error().message, HasSubstr("audit.db"));
}

TEST(ReplaceFile, MakesAPrivateFileAndReplacesItWhole) {
  const ScratchFolder folder;
  const auto file = folder / "x";
  ASSERT_TRUE(replace_file(file, "first, longer"));
  EXPECT_EQ(mode_of(file), 0600U);
  ASSERT_TRUE(replace_file(file, "second"));
  EXPECT_EQ(content_of(file), "second");
  EXPECT_EQ(entries_of(folder.path()), 1U);
}

TEST(ReplaceFile, FollowsSymbolicLinks) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_symlink("real/x", folder / "link");
  ASSERT_TRUE(replace_file(folder / "link", "through a dangling link"));
  ASSERT_TRUE(replace_file(folder / "link", "again"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content_of(folder / "real/x"), "again");
}

TEST(ReplaceFile, LeavesNothingBehindWhenItFails) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "x");
  EXPECT_EQ(replace_file(folder / "x", "y").error().kind, ErrorKind::local_io);
  EXPECT_EQ(entries_of(folder.path()), 1U);
  EXPECT_EQ(replace_file(folder / "no/x", "y").error().code, "not_found");
}

TEST(MakePrivateDirectory, CreatesAllThatIsMissing) {
  const ScratchFolder folder;
  ASSERT_TRUE(make_private_directory(folder / "a/b/c"));
  EXPECT_EQ(mode_of(folder / "a"), 0700U);
  EXPECT_EQ(mode_of(folder / "a/b/c"), 0700U);
  EXPECT_TRUE(make_private_directory(folder / "a/b/c"));
  EXPECT_TRUE(make_private_directory("/"));
}

TEST(MakePrivateDirectory, NamesTheFileInTheWay) {
  const ScratchFolder folder;
  folder.write("a", "");
  const auto made = make_private_directory(folder / "a");
  EXPECT_EQ(made.error().kind, ErrorKind::local_io);
  EXPECT_THAT(made.error().message, HasSubstr("Not a directory"));
  EXPECT_FALSE(make_private_directory(folder / "a/b"));
}

TEST(CheckPrivate, PassesOwnAndMissingFiles) {
  const ScratchFolder folder;
  EXPECT_TRUE(check_private(folder.write("x", "")));
  EXPECT_TRUE(check_private(folder.path()));
  EXPECT_TRUE(check_private(folder / "missing"));
  EXPECT_TRUE(check_private("/etc/passwd"));
  chmod((folder / "x").c_str(), 0644);
  EXPECT_TRUE(check_private(folder / "x"));
}

TEST(CheckPrivate, RefusesWhatOthersMayWriteWithTheFix) {
  const ScratchFolder folder;
  const auto file = folder.write("a b", "");
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    chmod(file.c_str(), mode);
    const auto checked = check_private(file);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, ErrorKind::config);
    EXPECT_EQ(checked.error().code, "unsafe_permissions");
    EXPECT_EQ(checked.error().hint, "chmod go-w '" + file.string() + "'");
  }
}

TEST(CheckPrivate, RefusesFilesOfOtherUsers) {
  if (geteuid() != 0) {
    // Only root can give a file away; the system's files are root's, which is fine.
    EXPECT_TRUE(check_private("/etc/hostname"));
    return;
  }
  const ScratchFolder folder;
  const auto file = folder.write("x", "");
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_EQ(check_private(file).error().code, "unsafe_permissions");
}

TEST(FileLock, LetsOneInAtATime) {
  constexpr int kThreads = 8;
  constexpr int kTurns = 20;
  const ScratchFolder folder;
  const auto counter = folder.write("counter", "0");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto lock = FileLock::acquire(folder / "lock", 60);
        ASSERT_TRUE(lock);
        folder.write("counter", std::to_string(std::stoi(content_of(counter)) + 1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(content_of(counter), std::to_string(kThreads * kTurns));
  EXPECT_EQ(mode_of(folder / "lock"), 0600U);
}

// B171: a holder that never lets go must not stop everyone.
TEST(FileLock, GivesUpOnAHolderThatStays) {
  const ScratchFolder folder;
  const auto held = FileLock::acquire(folder / "lock");
  ASSERT_TRUE(held);
  const auto second = FileLock::acquire(folder / "lock", 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  EXPECT_EQ(second.error().code, "locked");
}

TEST(FileLock, NamesTheFileItCannotMake) {
  const ScratchFolder folder;
  EXPECT_THAT(FileLock::acquire(folder / "no/lock").error().message, HasSubstr("no/lock"));
}

}  // namespace
}  // namespace sshx
