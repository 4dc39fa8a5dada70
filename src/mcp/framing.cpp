#include "mcp/framing.h"

#include <utility>

namespace sshx::mcp {
namespace {

std::string without_carriage_return(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

void LineFraming::receive(std::string_view bytes) { buffer_ += bytes; }

std::optional<Frame> LineFraming::next() {
  while (true) {
    const auto end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      if (buffer_.size() <= limit_) return std::nullopt;
      // Told once, when its end has come.
      skipping_ = true;
      buffer_.clear();
      searched_ = 0;
      return std::nullopt;
    }
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    searched_ = 0;
    if (std::exchange(skipping_, false) || line.size() > limit_) return Frame{{}, true};
    line = without_carriage_return(std::move(line));
    if (!line.empty()) return Frame{std::move(line)};
  }
}

std::optional<Frame> LineFraming::last() {
  if (std::exchange(skipping_, false)) return Frame{{}, true};
  auto line = without_carriage_return(std::exchange(buffer_, {}));
  searched_ = 0;
  if (line.empty()) return std::nullopt;
  return Frame{std::move(line)};
}

std::string LineFraming::framed(std::string message) const {
  message += '\n';
  return message;
}

}  // namespace sshx::mcp
