#include "mcp/framing.h"

#include <utility>

namespace sshx::mcp {
namespace {

std::string without_carriage_return(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

void LineFraming::receive(std::string_view bytes) {
  // Here and not with each line, or many short lines would move the rest once each.
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<Frame> LineFraming::next() {
  while (true) {
    const auto end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      if (buffer_.size() - begin_ <= limit_) return std::nullopt;
      // Told once, when its end has come.
      skipping_ = true;
      buffer_.clear();
      begin_ = searched_ = 0;
      return std::nullopt;
    }
    auto line = buffer_.substr(begin_, end - begin_);
    begin_ = searched_ = end + 1;
    if (std::exchange(skipping_, false) || line.size() > limit_) return Frame{{}, true};
    line = without_carriage_return(std::move(line));
    if (!line.empty()) return Frame{std::move(line)};
  }
}

std::optional<Frame> LineFraming::last() {
  auto line = without_carriage_return(buffer_.substr(begin_));
  buffer_.clear();
  begin_ = searched_ = 0;
  if (std::exchange(skipping_, false)) return Frame{{}, true};
  if (line.empty()) return std::nullopt;
  return Frame{std::move(line)};
}

std::string LineFraming::framed(std::string message) const {
  message += '\n';
  return message;
}

}  // namespace sshx::mcp
