#include "core/text.h"

#include <algorithm>
#include <cstddef>

namespace sshx {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

/// Optimal string alignment distance: insert, delete, replace, or swap neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::size_t difference(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

}  // namespace

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view trim(std::string_view text) noexcept {
  const auto from = text.find_first_not_of(kWhiteSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kWhiteSpace) - from + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string listed(std::span<const std::string> words, std::size_t most) {
  if (words.size() <= most) return join(words, ", ");
  return join(words.first(most), ", ") + " and " + std::to_string(words.size() - most) + " more";
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 256;
  if (word.size() > kLongestWord) return std::nullopt;
  std::size_t limit = word.size() / 3;
  std::optional<std::string> best;
  for (const auto& candidate : candidates) {
    if (difference(candidate.size(), word.size()) > limit) continue;
    const auto distance = edit_distance(word, candidate);
    if (distance > limit) continue;
    if (distance == limit && best) continue;
    best = candidate;
    limit = distance;
  }
  return best;
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  std::string text = v6 ? "[" + std::string(host) + "]" : std::string(host);
  return text + ":" + std::to_string(port);
}

}  // namespace sshx
