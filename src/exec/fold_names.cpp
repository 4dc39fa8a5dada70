#include "exec/fold_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace sshx::exec {
namespace {

constexpr std::string_view kDigits = "0123456789";
/// More digits than these are no number but text.
constexpr std::size_t kLongestNumber = 18;

/// The digits at the front of `text`, which are taken from it.
std::string_view take_digits(std::string_view& text) {
  const auto digits = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(digits.size());
  return digits;
}

std::string_view without_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

/// Negative, zero or positive, whatever the length of both.
int compare_numbers(std::string_view a, std::string_view b) {
  a = without_zeros(a);
  b = without_zeros(b);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

/// A name around one of its numbers.
struct Split {
  std::string_view before;
  std::string_view number;
  std::string_view after;
};

/// `name` around its number of that place, 0 for the last one; nothing where it has not so many.
std::optional<Split> split_at_number(std::string_view name, std::size_t place) {
  auto left = name;
  for (;; --place) {
    const auto last = left.find_last_of(kDigits);
    if (last == std::string_view::npos) return std::nullopt;
    left = left.substr(0, last + 1);
    const auto begin = left.find_last_not_of(kDigits) + 1;  // npos + 1 is the front
    if (place == 0) return Split{left.substr(0, begin), left.substr(begin), name.substr(last + 1)};
    left = left.substr(0, begin);
  }
}

bool follows(std::string_view number, std::string_view before) {
  if (number.size() > kLongestNumber || before.size() > kLongestNumber) return false;
  const bool padded = number.front() == '0' || before.front() == '0';
  if (padded && number.size() != before.size()) return false;
  return std::stoull(std::string(number)) == std::stoull(std::string(before)) + 1;
}

/// "1-3,7" for numbers in their order.
std::string ranges_of(std::span<const std::string_view> numbers) {
  std::string text;
  for (std::size_t first = 0, next = 0; first < numbers.size(); first = next) {
    next = first + 1;
    while (next < numbers.size() && follows(numbers[next], numbers[next - 1])) ++next;
    if (!text.empty()) text += ',';
    text += numbers[first];
    if (next - first > 1) text += fmt::format("-{}", numbers[next - 1]);
  }
  return text;
}

/// One or more names as one text, which stands where the first of them would.
struct Folded {
  std::string_view first;
  std::string text;
};

/// Names that differ in one number alone.
struct Family {
  std::vector<std::string_view> names;
  std::vector<std::string_view> numbers;
};

/// Takes those that differ in their number of that place alone out of `names`. Whether any name has
/// such a number.
bool fold_at(std::size_t place, std::vector<std::string_view>& names, std::vector<Folded>& folded) {
  std::map<std::pair<std::string_view, std::string_view>, Family> families;
  std::vector<std::string_view> left;
  for (const auto name : names) {
    const auto split = split_at_number(name, place);
    if (!split) {
      left.push_back(name);
      continue;
    }
    auto& family = families[{split->before, split->after}];
    family.names.push_back(name);
    family.numbers.push_back(split->number);
  }
  for (const auto& [around, family] : families) {
    if (family.names.size() == 1) {
      left.push_back(family.names.front());
      continue;
    }
    auto text = fmt::format("{}[{}]{}", around.first, ranges_of(family.numbers), around.second);
    folded.push_back({family.names.front(), std::move(text)});
  }
  names = std::move(left);
  std::ranges::sort(names, naturally_before);
  return !families.empty();
}

bool can_be_folded(std::string_view name) {
  return name.find_first_of("[],") == std::string_view::npos;
}

}  // namespace

bool naturally_before(std::string_view a, std::string_view b) {
  auto left = a;
  auto right = b;
  while (!left.empty() && !right.empty()) {
    const auto a_digits = take_digits(left);
    const auto b_digits = take_digits(right);
    if (!a_digits.empty() && !b_digits.empty()) {
      if (const int order = compare_numbers(a_digits, b_digits); order != 0) return order < 0;
      continue;
    }
    // At most one of them begins with digits here, and these decide.
    const auto a_rest = a_digits.empty() ? left : a_digits;
    const auto b_rest = b_digits.empty() ? right : b_digits;
    if (const int order = a_rest.substr(0, 1).compare(b_rest.substr(0, 1)); order != 0) {
      return order < 0;
    }
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;
}

std::string fold_names(std::vector<std::string_view> names) {
  std::ranges::sort(names, naturally_before);
  std::vector<Folded> folded;
  const auto kept = std::ranges::stable_partition(names, can_be_folded);
  for (const auto name : kept) folded.push_back({name, std::string(name)});
  names.erase(kept.begin(), kept.end());
  for (std::size_t place = 0; fold_at(place, names, folded); ++place) {
  }
  for (const auto name : names) folded.push_back({name, std::string(name)});
  std::ranges::sort(folded, naturally_before, &Folded::first);
  std::string text;
  for (const auto& one : folded) {
    if (!text.empty()) text += ',';
    text += one.text;
  }
  return text;
}

}  // namespace sshx::exec
