#include "cli/columns.h"

#include "core/utf8.h"

namespace sshx::cli {

std::size_t columns_of(std::string_view text) { return character_count(text); }

std::string_view cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i]) && taken++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace sshx::cli
