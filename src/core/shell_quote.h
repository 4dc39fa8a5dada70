#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sshx {

/// One word that a POSIX shell reads back as exactly `word`, in any place of a command.
[[nodiscard]] std::string shell_quote(std::string_view word);

/// The words after `--` as one command: a single word stands as it is, several are each quoted
/// (ssh(1) joins raw).
[[nodiscard]] std::string shell_command(std::span<const std::string> words);

}  // namespace sshx
