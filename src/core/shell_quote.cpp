#include "core/shell_quote.h"

#include <algorithm>
#include <array>

namespace sshx {
namespace {

// No "=": an unquoted NAME=value in front would be an assignment, not a word. No "~": it would be
// expanded.
constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+:,./_-";

/// Words of letters that mean something to a shell in front of a command (POSIX.1-2017 XCU §2.4).
constexpr std::array<std::string_view, 13> kReserved{"case", "do",    "done", "elif", "else",
                                                     "esac", "fi",    "for",  "if",   "in",
                                                     "then", "until", "while"};

bool is_plain(std::string_view word) {
  return !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos &&
         std::find(kReserved.begin(), kReserved.end(), word) == kReserved.end();
}

}  // namespace

std::string shell_quote(std::string_view word) {
  if (is_plain(word)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_command(std::span<const std::string> words) {
  if (words.size() == 1) return words.front();
  std::string command;
  for (const auto& word : words) {
    if (!command.empty()) command += ' ';
    command += shell_quote(word);
  }
  return command;
}

}  // namespace sshx
