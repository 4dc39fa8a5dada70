#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace sshx::test {

/// A folder of a test's own, which goes with it.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / "sshx-test.XXXXXX") {
    auto name = path_.string();
    path_ = mkdtemp(name.data()) == nullptr ? std::filesystem::path() : std::filesystem::path(name);
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

  /// Writes a file with mode 0600 and says where it is.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    const auto file = path_ / name;
    std::ofstream(file, std::ios::binary) << content;
    chmod(file.c_str(), 0600);
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

inline unsigned mode_of(const std::filesystem::path& file) {
  struct stat facts {};

  return stat(file.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
}

}  // namespace sshx::test
