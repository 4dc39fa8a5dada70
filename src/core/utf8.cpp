#include "core/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace sshx {
namespace {

/// One character at the front of a text; `length` 0 where the bytes there are not UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};

Character ascii_or_broken(unsigned char lead) { return {lead, lead < 0x80 ? std::size_t{1} : 0}; }

Character decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || lead > 0xF4) return ascii_or_broken(lead);
  if (text.size() < length) return {};
  char32_t code = lead & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1)) {
    if (!is_continuation(c)) return {};
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || code > 0x10FFFF || surrogate) return {};
  return {code, length};
}

struct Range {
  char32_t first;
  char32_t last;
};

/// Characters that move, hide or join what stands around them, and so can make a text read as
/// another one.
constexpr std::array<Range, 14> kDeceptive{{
    {0x80, 0x9F},        // C1 controls
    {0xAD, 0xAD},        // soft hyphen
    {0x34F, 0x34F},      // combining grapheme joiner
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x180B, 0x180F},    // Mongolian separators
    {0x200B, 0x200F},    // zero-width characters, direction marks
    {0x2028, 0x202E},    // line separators, bidirectional embedding and override
    {0x2060, 0x206F},    // word joiner, isolates, deprecated format characters
    {0x3164, 0x3164},    // Hangul filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // half-width Hangul filler
    {0xFFF9, 0xFFFB},    // interlinear annotation
    {0xE0000, 0xE0FFF},  // tags, variation selectors
}};

bool is_deceptive(char32_t code) {
  return std::any_of(kDeceptive.begin(), kDeceptive.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

/// Whether newline and tab stay as they are.
enum class Layout : std::uint8_t { escaped, kept };

void append_printable(std::string& out, const Character& character, std::string_view bytes,
                      Layout layout) {
  const auto code = static_cast<unsigned>(character.code);
  auto to = std::back_inserter(out);
  const bool is_layout = code == '\n' || code == '\t';
  if (is_layout && layout == Layout::escaped) {
    out += code == '\n' ? "\\n" : "\\t";
  } else if (!is_layout && (code < 0x20 || code == 0x7F)) {
    fmt::format_to(to, "\\x{:02x}", code);
  } else if (is_deceptive(character.code)) {
    fmt::format_to(to, "\\u{:04x}", code);
  } else {
    out += bytes;
  }
}

void append_all(std::string& out, std::string_view text, Layout layout) {
  while (!text.empty()) {
    const auto character = decode(text);
    if (character.length == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                     static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    append_printable(out, character, text.substr(0, character.length), layout);
    text.remove_prefix(character.length);
  }
}

/// Whether continuation bytes could make `start`, which is no character yet, one.
bool can_become_character(std::string_view start) {
  if (decode(start).length != 0) return false;
  for (std::size_t missing = 1; missing <= 3; ++missing) {
    for (const char continuation : {'\x80', '\xBF'}) {
      const auto whole = std::string(start) + std::string(missing, continuation);
      if (decode(whole).length == whole.size()) return true;
    }
  }
  return false;
}

}  // namespace

std::size_t unfinished_tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto start = text.substr(text.size() - back);
    if (is_continuation(start.front())) continue;
    return can_become_character(start) ? back : 0;
  }
  return 0;
}

std::size_t character_count(std::string_view text) noexcept {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto length = decode(bytes).length;
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_all(out, text, Layout::escaped);
  return out;
}

std::string PrintableStream::next(std::string_view piece) {
  cut_ += piece;
  const auto whole = cut_.size() - unfinished_tail(cut_);
  std::string out;
  append_all(out, std::string_view(cut_).substr(0, whole), Layout::kept);
  cut_.erase(0, whole);
  return out;
}

std::string PrintableStream::end() {
  std::string out;
  append_all(out, cut_, Layout::kept);
  cut_.clear();
  return out;
}

}  // namespace sshx
