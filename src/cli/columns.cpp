#include "cli/columns.h"

#include <algorithm>

namespace sshx::cli {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string_view cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && taken++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace sshx::cli
