#include "core/pattern.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace sshx {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// What one place of the text may be, and how often in a row.
struct Element {
  std::string_view members;  ///< "a-z_" of [a-z_], or one literal character.
  bool is_class = false;
  bool negated = false;
  bool any = false;
  std::size_t minimum = 1;
  std::size_t maximum = 1;
};

bool in_class(std::string_view members, char c) noexcept {
  while (!members.empty()) {
    const bool is_range = members.size() >= 3 && members[1] == '-';
    const char last = is_range ? members[2] : members.front();
    if (c >= members.front() && c <= last) return true;
    members.remove_prefix(is_range ? 3 : 1);
  }
  return false;
}

bool accepts(const Element& element, char c) noexcept {
  if (element.any) return c != '\n' && c != '\r';
  if (!element.is_class) return c == element.members.front();
  return in_class(element.members, c) != element.negated;
}

std::size_t take_number(std::string_view& pattern) noexcept {
  std::size_t number = 0;
  while (!pattern.empty() && pattern.front() >= '0' && pattern.front() <= '9') {
    number = number * 10 + static_cast<std::size_t>(pattern.front() - '0');
    pattern.remove_prefix(1);
  }
  return number;
}

void take_braces(std::string_view& pattern, Element& element) noexcept {
  pattern.remove_prefix(1);
  element.minimum = take_number(pattern);
  element.maximum = element.minimum;
  if (pattern.starts_with(',')) {
    pattern.remove_prefix(1);
    element.maximum = pattern.starts_with('}') ? kUnlimited : take_number(pattern);
  }
  pattern.remove_prefix(1);
}

void take_quantifier(std::string_view& pattern, Element& element) noexcept {
  if (pattern.starts_with('{')) return take_braces(pattern, element);
  const char c = pattern.empty() ? '\0' : pattern.front();
  if (c != '+' && c != '*' && c != '?') return;
  element.minimum = c == '+' ? 1 : 0;
  element.maximum = c == '?' ? 1 : kUnlimited;
  pattern.remove_prefix(1);
}

Element take_element(std::string_view& pattern) noexcept {
  Element element;
  if (pattern.front() == '[') {
    element.is_class = true;
    element.negated = pattern.substr(1).starts_with('^');
    const std::size_t begin = element.negated ? 2 : 1;
    const std::size_t end = pattern.find(']');
    element.members = pattern.substr(begin, end - begin);
    pattern.remove_prefix(end + 1);
  } else {
    const bool escaped = pattern.front() == '\\';
    if (escaped) pattern.remove_prefix(1);
    element.any = !escaped && pattern.front() == '.';
    element.members = pattern.substr(0, 1);
    pattern.remove_prefix(1);
  }
  take_quantifier(pattern, element);
  return element;
}

bool fits_from(std::string_view pattern, std::string_view text) noexcept {
  if (pattern.empty() || pattern == "$") return text.empty();
  const Element element = take_element(pattern);
  std::size_t most = 0;
  while (most < element.maximum && most < text.size() && accepts(element, text[most])) ++most;
  // Longest first, as ECMAScript's greedy quantifiers; the rest of the pattern decides.
  for (std::size_t count = most + 1; count-- > element.minimum;) {
    if (fits_from(pattern, text.substr(count))) return true;
  }
  return false;
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view text) noexcept {
  return fits_from(pattern.substr(1), text);
}

}  // namespace sshx
