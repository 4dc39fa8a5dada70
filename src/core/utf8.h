#pragma once

#include <string>
#include <string_view>

namespace sshx {

/// Whether `bytes` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// `text` fit for a person's terminal: control bytes, C1, bidirectional and zero-width characters
/// and broken UTF-8 become visible escapes such as \x1b or \u202e. Newline and tab become \n and
/// \t.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace sshx
