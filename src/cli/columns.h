#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sshx::cli {

/// Columns of a terminal that a text takes: one a character, which is right for all but wide and
/// combining ones.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// As much of the front of `text` as takes at most so many columns.
[[nodiscard]] std::string_view cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace sshx::cli
