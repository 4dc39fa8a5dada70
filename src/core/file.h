#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace sshx {

/// Owns a file descriptor; closes it at the end of its life.
class UniqueFd {
 public:
  UniqueFd() = default;

  explicit UniqueFd(int fd) noexcept : fd_(fd) {}

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();

  [[nodiscard]] int get() const noexcept { return fd_; }

  explicit operator bool() const noexcept { return fd_ >= 0; }

  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// The whole file, at most `limit` bytes. Waits for the disk. Returns: local_io (`not_found`,
/// `permission`, `io`, `too_large`, `not_a_file`: a directory, device or FIFO is refused without
/// blocking on it).
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit);

/// The same of an open file, named `what` in messages. Returns: local_io (`io`, `too_large`,
/// `not_a_file`).
[[nodiscard]] Result<std::string> read_regular(int fd, std::size_t limit, std::string_view what);

/// All of descriptor `fd` until its end, at most `limit` bytes. `what` names it in messages. Waits
/// for the writer. Returns: local_io (`io`, `too_large`).
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit, std::string_view what);

/// What is there next on `fd`: at least one byte, at most `limit`, or none at its end. Waits for
/// the writer, also where the descriptor was made non-blocking. Returns: local_io (`io`).
[[nodiscard]] Result<std::string> read_some(int fd, std::size_t limit, std::string_view what);

/// All bytes to `fd`, retrying partial writes and waiting where the descriptor is not ready.
/// Returns: local_io.
[[nodiscard]] Status write_all(int fd, std::string_view bytes, std::string_view what);

/// Replaces `file` by `content` at once: a temporary file beside it, mode 0600, fsync, rename,
/// fsync of the folder. A symbolic link is followed, so a linked file stays one. Returns: local_io.
[[nodiscard]] Status replace_file(const std::filesystem::path& file, std::string_view content);

/// Creates the folder and those above it that are missing, with mode 0700. Returns: local_io.
[[nodiscard]] Status make_private_directory(const std::filesystem::path& folder);

/// Refuses a file or folder that is not ours (or root's) or that others may write. A missing one
/// passes. Returns: config (`unsafe_permissions`) with the one-line fix, local_io.
[[nodiscard]] Status check_private(const std::filesystem::path& file);

/// Holds an exclusive flock(2) on `file` (created 0600 when missing) until destroyed.
class FileLock {
 public:
  /// Waits for other holders, but not for ever: a stopped process must not stop all others.
  /// Returns: local_io, busy (`locked`).
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& file,
                                                double wait_seconds = 10);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace sshx
