#pragma once

#include <string_view>

namespace sshx {

/// Whether `text` fits `pattern`, an anchored subset of ECMAScript's regular expressions: `^`, then
/// literals, `\` and a literal, `.` or classes such as [a-z_] and [^=], each with +, *, ?, {n},
/// {n,} or {n,m}, then `$`. The generator refuses descriptors whose patterns are outside it.
/// std::regex is not used because it recurses once a character and can overflow the stack on a long
/// text (field report B011); this recurses once an element of the pattern. Works on bytes, which is
/// the same for UTF-8 as long as `.` and negated classes are not counted.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text) noexcept;

}  // namespace sshx
