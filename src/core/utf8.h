#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sshx {

/// Whether `bytes` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// Whether the byte stands within a character, after its first (RFC 3629 §3).
[[nodiscard]] constexpr bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// How many bytes at the end begin a character whose rest may still come (RFC 3629 §3); at most 3.
[[nodiscard]] std::size_t unfinished_tail(std::string_view text);

/// Characters of UTF-8: code points.
[[nodiscard]] std::size_t character_count(std::string_view text) noexcept;

/// `text` fit for a person's terminal: control bytes, C1, bidirectional and zero-width characters
/// and broken UTF-8 become visible escapes such as \x1b or \u202e. Newline and tab become \n and
/// \t.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a stream: newline and tab stay, and a character that is cut by the end of one
/// piece is taken up by the next.
class PrintableStream {
 public:
  /// What of the stream so far can be shown now.
  [[nodiscard]] std::string next(std::string_view piece);
  /// The rest, once nothing more comes.
  [[nodiscard]] std::string end();

 private:
  std::string cut_;
};

}  // namespace sshx
