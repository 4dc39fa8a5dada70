#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/file.h"
#include "fuzz/property.h"

namespace sshx::fuzz {

/// A file that has a path and never touches a disk, for functions that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(memfd_create("sshx-fuzz", MFD_CLOEXEC)) {
    constexpr mode_t kPrivate = 0600;
    require(fd_ && fchmod(fd_.get(), kPrivate) == 0, "a memory file can be made");
    require(write_all(fd_.get(), content, "a memory file").has_value(), "it can be written");
  }

  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(fd_.get());
  }

  [[nodiscard]] std::string content() const {
    const auto text = read_file(path(), kLimit);
    require(text.has_value(), "a memory file can be read");
    return *text;
  }

 private:
  static constexpr std::size_t kLimit = std::size_t{64} << 20U;
  UniqueFd fd_;
};

}  // namespace sshx::fuzz
