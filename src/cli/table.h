#pragma once

#include <string>
#include <vector>

namespace sshx::cli {

/// A plain text table: a heading, then rows, columns padded to their widest cell and two spaces
/// apart. Every cell goes through printable(), since names and messages may come from hosts and
/// files.
class Table {
 public:
  explicit Table(std::vector<std::string> heading);

  /// One cell a column.
  void add(std::vector<std::string> cells);
  /// All lines; the last column is not padded.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sshx::cli
