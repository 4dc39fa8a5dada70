#include "audit/store_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "core/file.h"

namespace sshx::audit {
namespace {

using std::filesystem::file_type;
using std::filesystem::path;

/// In a sticky folder others cannot replace our files, only put theirs where ours will be: those
/// are found by the check of each file.
Status check_folder(const path& folder) {
  struct stat facts {};

  if (stat(folder.c_str(), &facts) == 0 && (facts.st_mode & S_ISVTX) != 0) return {};
  return check_private(folder);
}

/// An empty file of mode 0600, which SQLite then gives its own files too. mknod(2) and not open(2),
/// because closing a descriptor of a database drops the locks that other connections of this
/// process hold on it.
Status create_file(const path& file) {
  constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
  if (mknod(file.c_str(), S_IFREG | kOwnerOnly, 0) == 0 || errno == EEXIST) return {};
  return io_error("create", file.string(), errno);
}

}  // namespace

path real_store_path(const path& file) {
  // The kernel's own limit (path_resolution(7)); a loop is left for open(2) to refuse.
  constexpr int kMaxLinks = 40;
  path real = file;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code error;
    const path target = std::filesystem::read_symlink(real, error);
    if (error) break;
    real = store_folder(real) / target;
  }
  return real;
}

path store_folder(const path& file) {
  return file.has_parent_path() ? file.parent_path() : path(".");
}

Result<bool> is_store_there(const path& file) {
  std::error_code error;
  const auto type = std::filesystem::status(file, error).type();
  if (type == file_type::regular) return true;
  if (type == file_type::not_found) return false;
  if (type == file_type::none) return io_error("read", file.string(), error.value());
  return Error{ErrorKind::local_io, "not_a_file", "it is not a regular file", {}};
}

Status check_store_files(const path& file) {
  SSHX_CHECK(check_folder(store_folder(file)));
  for (const auto* suffix : {"", "-wal", "-shm", "-journal"}) {
    SSHX_CHECK(check_private(file.string() + suffix));
  }
  return {};
}

Status prepare_store_files(const path& file) {
  SSHX_CHECK(make_private_directory(store_folder(file)));
  SSHX_CHECK(is_store_there(file));
  SSHX_CHECK(check_store_files(file));
  return create_file(file);
}

}  // namespace sshx::audit
