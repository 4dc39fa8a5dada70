#include "core/beneath.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/file.h"
#include "core/paths.h"
#include "core/utf8.h"

namespace sshx {
namespace {

using std::filesystem::path;

constexpr std::size_t kKeySearchBytes = 65536;
/// A way whose folders are being renamed cannot be judged by the kernel, which then asks to try
/// again (openat2(2), EAGAIN).
constexpr int kAttempts = 64;

std::string shown(const path& name) { return printable(name.string()); }

Error outside(const path& root, const path& name, std::string_view why) {
  return {ErrorKind::blocked, "outside_local_root",
          fmt::format("cannot read {}: {} {}", shown(name), why, shown(root)),
          fmt::format("use a file beneath {}; names are relative to it", shown(root))};
}

Error protected_file(const path& name, std::string_view why) {
  return {ErrorKind::blocked, "protected_file", fmt::format("cannot read {}: {}", shown(name), why),
          "keys, trust and the files of sshx are never sent; use another file"};
}

Error no_openat2() {
  return {ErrorKind::unsupported, "openat2",
          "this kernel cannot keep a file's path within a folder: it has no openat2(2)",
          "use Linux 5.6 or newer, or give the content itself instead of a file"};
}

bool lies_in(const path& file, const path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

/// Without a separator at the end, which would count as a step of its own.
path plain(const path& folder) {
  return folder.has_filename() || folder == folder.root_path() ? folder : folder.parent_path();
}

/// Where the open file is, without symbolic links; nothing without /proc.
std::optional<path> real_path(int fd) {
  std::error_code error;
  auto place = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
  if (error) return std::nullopt;
  return place;
}

/// `name` from `folder` on; nothing where it does not begin with it. What follows is for the kernel
/// to judge, so it is left as it stands.
std::optional<path> rest_after(const path& folder, const path& name) {
  auto [step, next] = std::mismatch(folder.begin(), folder.end(), name.begin(), name.end());
  if (step != folder.end()) return std::nullopt;
  path rest = ".";
  for (; next != name.end(); ++next) rest /= *next;
  return rest;
}

/// `name` as seen from the root.
std::optional<path> relative_name(const path& root, int root_fd, const path& name) {
  if (!name.is_absolute()) return name;
  std::error_code error;
  const auto given = std::filesystem::absolute(root, error);
  if (!error) {
    if (auto rest = rest_after(plain(given), name)) return rest;
  }
  const auto real = real_path(root_fd);
  return real ? rest_after(*real, name) : std::nullopt;
}

/// The C library has no function for it (glibc 2.36).
int openat2(int folder, const path& name) {
  open_how how{};
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
}

Result<UniqueFd> open_within(const path& root, int root_fd, const path& relative,
                             const path& name) {
  for (int attempt = 1;; ++attempt) {
    UniqueFd file(openat2(root_fd, relative));
    if (file) return file;
    if (errno == EXDEV) return outside(root, name, "it leads out of");
    if (errno == ELOOP) return outside(root, name, "its links go in a circle or cannot be kept to");
    if (errno == ENOSYS) return no_openat2();
    const bool again = errno == EAGAIN || errno == EINTR;
    if (!again || attempt == kAttempts) return io_error("read", shown(name), errno);
  }
}

Status check_unprotected(int fd, const path& name) {
  const auto place = real_path(fd);
  if (!place) return protected_file(name, "where it lies cannot be told, since /proc is missing");
  for (const auto& folder : protected_folders()) {
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(folder, error);
    if (lies_in(*place, plain(error ? folder : real))) {
      return protected_file(name, fmt::format("it lies in {}", shown(folder)));
    }
  }
  return {};
}

bool begins_private_key(std::string_view line) noexcept {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "PRIVATE KEY-----";
  return line.starts_with(kBegin) &&
         line.substr(kBegin.size(), line.find_first_of("\r\n") - kBegin.size()).find(kEnd) !=
             std::string_view::npos;
}

}  // namespace

Result<std::string> read_beneath(const path& root, const path& name, std::size_t limit) {
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return io_error("use the folder for local files", shown(root), errno);
  const auto relative = relative_name(root, folder.get(), name);
  if (!relative) return outside(root, name, "it lies outside");
  SSHX_TRY(const auto file, open_within(root, folder.get(), *relative, name));
  SSHX_CHECK(check_unprotected(file.get(), name));
  SSHX_TRY(auto content, read_regular(file.get(), limit, shown(name)));
  if (holds_private_key(content)) return protected_file(name, "it holds a private key");
  return content;
}

bool holds_private_key(std::string_view text) noexcept {
  text = text.substr(0, kKeySearchBytes);
  for (;;) {
    if (begins_private_key(text)) return true;
    const auto end = text.find_first_of("\r\n");
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
}

}  // namespace sshx
