#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "core/deadline.h"
#include "core/shell_quote.h"

namespace sshx {
namespace {

using std::filesystem::path;

constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kWritableByOthers = 0022;
constexpr std::size_t kChunk = 65536;
constexpr std::chrono::milliseconds kLockRetry{5};

Error too_large(std::string_view what, std::size_t limit) {
  return {
      ErrorKind::local_io, "too_large", fmt::format("{} is larger than {} bytes", what, limit), {}};
}

void wait_ready(int fd, short events) {
  pollfd waiting{fd, events, 0};
  static_cast<void>(poll(&waiting, 1, -1));
}

/// Whether a failed read or write is worth another try, after waiting where the descriptor was not
/// ready.
bool try_again(int fd, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  wait_ready(fd, events);
  return true;
}

/// The file that `path` leads to through symbolic links, which need not exist.
path link_target(path file) {
  constexpr int kMaxLinks = 40;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(file, error);
    if (error) break;
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  return file;
}

path folder_of(const path& file) { return file.has_parent_path() ? file.parent_path() : path("."); }

/// A file that is removed at the end of its life unless it was put in its place.
class TemporaryFile {
 public:
  static Result<TemporaryFile> beside(const path& file) {
    auto name = (folder_of(file) / fmt::format(".{}.XXXXXX", file.filename().string())).string();
    const int fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) return io_error("write", file.string(), errno);
    return TemporaryFile(UniqueFd(fd), std::move(name));
  }

  TemporaryFile(TemporaryFile&& other) noexcept
      : fd_(std::move(other.fd_)), name_(std::exchange(other.name_, {})) {}

  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  Status move_to(const path& file) {
    if (rename(name_.c_str(), file.c_str()) != 0) return io_error("replace", file.string(), errno);
    name_.clear();
    return {};
  }

 private:
  TemporaryFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  UniqueFd fd_;
  std::string name_;
};

Status sync_folder(const path& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return io_error("open", folder.string(), errno);
  // Some file systems cannot sync a folder and say EINVAL; their renames are as safe as they can
  // be.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return io_error("sync", folder.string(), errno);
  return {};
}

Error unsafe(const path& file, std::string_view why, std::string_view fix) {
  return config_error("unsafe_permissions", fmt::format("{} {}", file.string(), why),
                      fmt::format("{} {}", fix, shell_quote(file.string())));
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

Result<std::string> read_file(const path& file, std::size_t limit) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return io_error("read", file.string(), errno);
  return read_regular(fd.get(), limit, file.string());
}

Result<std::string> read_regular(int fd, std::size_t limit, std::string_view what) {
  struct stat facts {};

  if (fstat(fd, &facts) != 0) return io_error("read", what, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Error{ErrorKind::local_io,
                 "not_a_file",
                 fmt::format("cannot read {}: it is not a regular file", what),
                 {}};
  }
  return read_all(fd, limit, what);
}

Result<std::string> read_all(int fd, std::size_t limit, std::string_view what) {
  std::string content;
  std::string chunk(kChunk, '\0');
  while (true) {
    const auto got = read(fd, chunk.data(), chunk.size());
    if (got == 0) return content;
    if (got < 0) {
      if (try_again(fd, POLLIN)) continue;
      return io_error("read", what, errno);
    }
    content.append(chunk, 0, static_cast<std::size_t>(got));
    if (content.size() > limit) return too_large(what, limit);
  }
}

Result<std::string> read_some(int fd, std::size_t limit, std::string_view what) {
  std::string bytes(limit, '\0');
  for (;;) {
    const auto got = read(fd, bytes.data(), bytes.size());
    if (got >= 0) {
      bytes.resize(static_cast<std::size_t>(got));
      return bytes;
    }
    if (!try_again(fd, POLLIN)) return io_error("read", what, errno);
  }
}

Status write_all(int fd, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const auto written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (!try_again(fd, POLLOUT)) {
      return io_error("write", what, errno);
    }
  }
  return {};
}

Status replace_file(const path& file, std::string_view content) {
  const auto target = link_target(file);
  SSHX_TRY(auto temporary, TemporaryFile::beside(target));
  SSHX_CHECK(write_all(temporary.fd(), content, target.string()));
  if (fchmod(temporary.fd(), kPrivateFile) != 0 || fsync(temporary.fd()) != 0) {
    return io_error("write", target.string(), errno);
  }
  SSHX_CHECK(temporary.move_to(target));
  return sync_folder(folder_of(target));
}

Status make_private_directory(const path& folder) {
  if (mkdir(folder.c_str(), kPrivateFolder) == 0) return {};
  if (errno == ENOENT && folder.has_relative_path() && folder.parent_path() != folder) {
    SSHX_CHECK(make_private_directory(folder_of(folder)));
    if (mkdir(folder.c_str(), kPrivateFolder) == 0) return {};
  }
  const int reason = errno;
  std::error_code error;
  // Also after EROFS or EACCES: what is there already needs no creating.
  if (std::filesystem::is_directory(folder, error)) return {};
  return io_error("create folder", folder.string(), reason == EEXIST ? ENOTDIR : reason);
}

Status check_private(const path& file) {
  struct stat facts {};

  if (stat(file.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    return io_error("read", file.string(), errno);
  }
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return unsafe(file, "belongs to another user", "chown \"$(id -u)\"");
  }
  if ((facts.st_mode & kWritableByOthers) != 0) {
    return unsafe(file, "may be written by others", "chmod go-w");
  }
  return {};
}

Result<FileLock> FileLock::acquire(const path& file, double wait_seconds) {
  UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateFile));
  if (!fd) return io_error("lock", file.string(), errno);
  const auto deadline = after(wait_seconds);
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return io_error("lock", file.string(), errno);
    if (passed(deadline)) {
      return Error{ErrorKind::busy, "locked",
                   fmt::format("another process has held the lock on {} for {} s", file.string(),
                               wait_seconds),
                   fmt::format("see who holds it: fuser -v {}", shell_quote(file.string()))};
    }
    std::this_thread::sleep_for(kLockRetry);
  }
  return FileLock(std::move(fd));
}

}  // namespace sshx
