#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace sshx::cli {
namespace {

constexpr std::size_t kGap = 2;

/// Columns that a cell takes: one a character, which is right for all but wide and combining ones.
std::size_t width_of(const std::string& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cell, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  std::string text;
  for (const auto& cells : rows_) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += cells[i];
      if (i + 1 < cells.size()) line.append(widths[i] - width_of(cells[i]) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace sshx::cli
