#include "exec/output_capture.h"

#include <algorithm>

#include "core/sha256.h"
#include "core/utf8.h"

namespace sshx::exec {
namespace {

/// Bytes of `byte` inside a JSON string (RFC 8259 §7, as core/json writes it).
std::size_t json_cost(char byte) {
  constexpr std::string_view kShortEscapes = "\"\\\b\f\n\r\t";
  if (kShortEscapes.find(byte) != std::string_view::npos) return 2;
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr std::size_t kUnicodeEscape = 6;
  return static_cast<unsigned char>(byte) < kFirstPrintable ? kUnicodeEscape : 1;
}

/// The longest front of `text` that costs at most `budget` and ends between characters.
std::string_view fitting_front(std::string_view text, std::size_t budget) {
  std::size_t size = 0;
  for (std::size_t cost = 0; size < text.size(); ++size) {
    cost += json_cost(text[size]);
    if (cost > budget) break;
  }
  while (size > 0 && size < text.size() && is_continuation(text[size])) --size;
  return text.substr(0, size);
}

std::string_view fitting_back(std::string_view text, std::size_t budget) {
  std::size_t start = text.size();
  for (std::size_t cost = 0; start > 0; --start) {
    cost += json_cost(text[start - 1]);
    if (cost > budget) break;
  }
  while (start < text.size() && is_continuation(text[start])) ++start;
  return text.substr(start);
}

/// The head without the first bytes of a character that the cut went through.
std::string_view without_cut_end(std::string_view head) {
  constexpr std::size_t kLongestCut = 3;
  for (std::size_t back = 1; back <= std::min(kLongestCut, head.size()); ++back) {
    if (is_utf8(head)) break;
    const auto shorter = head.substr(0, head.size() - back);
    if (is_utf8(shorter)) return shorter;
  }
  return head;
}

/// The tail without the last bytes of a character that the cut went through.
std::string_view without_cut_start(std::string_view tail) {
  constexpr std::size_t kLongestCut = 3;
  std::size_t skip = 0;
  while (skip < std::min(kLongestCut, tail.size()) && is_continuation(tail[skip])) ++skip;
  return is_utf8(tail.substr(skip)) ? tail.substr(skip) : tail;
}

std::size_t utf8_cost(std::string_view text) {
  std::size_t cost = 0;
  for (const char byte : text) cost += json_cost(byte);
  return cost;
}

/// Raw bytes whose base64 form has at most `budget` characters.
std::size_t raw_for_base64(std::size_t budget) { return budget / 4 * 3; }

StreamCapture::Text joined(std::string_view head, std::string_view tail, unsigned long long total,
                           std::string_view encoding) {
  StreamCapture::Text text;
  const auto kept = std::string(head).append(tail);
  text.encoding = encoding;
  text.text = encoding == "base64" ? to_base64(kept) : kept;
  text.omitted = total - kept.size();
  if (text.omitted > 0) text.omitted_at = head.size();
  return text;
}

}  // namespace

void StreamCapture::append(std::string_view bytes) {
  total_ += bytes.size();
  const auto room = limit_ - std::min(limit_, head_.size());
  const auto to_head = std::min(room, bytes.size());
  head_.append(bytes.substr(0, to_head));
  tail_.append(bytes.substr(to_head));
  drop_excess_tail();
}

void StreamCapture::drop_excess_tail() {
  // Dropped in large steps, so that a long stream of small pieces does not move the tail each time.
  constexpr std::size_t kSlack = 64UL * 1024;
  if (tail_.size() > limit_ + kSlack) tail_.erase(0, tail_.size() - limit_);
}

StreamCapture::Text StreamCapture::text() const {
  const std::string_view head = head_;
  const std::string_view tail = tail_;
  const bool contiguous = head.size() + tail.size() == total_;
  if (contiguous) {
    const auto whole = head_ + tail_;
    const bool text_fits = is_utf8(whole) && utf8_cost(whole) <= limit_;
    if (text_fits) return joined(whole, {}, total_, "utf-8");
    if (!is_utf8(whole) && whole.size() <= raw_for_base64(limit_))
      return joined(whole, {}, total_, "base64");
    const auto half = std::string_view(whole).size() / 2;
    return cut(std::string_view(whole).substr(0, half), std::string_view(whole).substr(half));
  }
  return cut(head, tail);
}

StreamCapture::Text StreamCapture::cut(std::string_view head, std::string_view tail) const {
  const auto clean_head = without_cut_end(head);
  const auto clean_tail = without_cut_start(tail);
  const auto front = limit_ / 2;
  if (is_utf8(clean_head) && is_utf8(clean_tail)) {
    return joined(fitting_front(clean_head, front), fitting_back(clean_tail, limit_ - front),
                  total_, "utf-8");
  }
  const auto raw = raw_for_base64(limit_);
  const auto raw_front = std::min(raw / 2, head.size());
  const auto raw_back = std::min(raw - raw / 2, tail.size());
  return joined(head.substr(0, raw_front), tail.substr(tail.size() - raw_back), total_, "base64");
}

}  // namespace sshx::exec
