#include "exec/prefixed_output.h"

#include <utility>

#include "exec/output_share.h"

namespace sshx::exec {
namespace {

constexpr std::size_t kLongestLine = 64UL * 1024;
/// A character of UTF-8 has at most so many bytes after its first (RFC 3629 §3).
constexpr std::size_t kContinuations = 3;

/// Where a text that is too long for one line is broken: at the limit, or before a character that
/// would be cut there.
std::size_t breaking_point(std::string_view text) {
  for (std::size_t back = 0; back <= kContinuations; ++back) {
    if (!is_continuation(text[kLongestLine - back])) return kLongestLine - back;
  }
  return kLongestLine;
}

}  // namespace

PrefixedOutput::PrefixedOutput(std::string_view name, InheritedOutput& output,
                               ControlBytes control_bytes, std::function<void()> before_lines)
    : prefix_(std::string(name) + ": "), output_(output), writer_(output.add_writer()),
      control_bytes_(control_bytes), before_lines_(std::move(before_lines)) {}

void PrefixedOutput::receive(ssh::OutputStream stream, std::string_view bytes) {
  const auto index = static_cast<std::size_t>(stream);
  streams_[index].total += bytes.size();
  if (control_bytes_ == ControlBytes::visible) {
    write_lines(index, streams_[index].visible.next(bytes));
  } else {
    write_lines(index, bytes);
  }
}

void PrefixedOutput::write_lines(std::size_t index, std::string_view text) {
  auto& started = streams_[index].started;
  std::string piece;
  while (!text.empty()) {
    const auto end = text.find('\n');
    started += text.substr(0, end);
    break_line(started, piece);
    if (end == std::string_view::npos) break;
    append_line(started, piece);
    started.clear();
    text.remove_prefix(end + 1);
  }
  if (piece.empty()) return;
  before_lines_();
  output_.write(index, std::move(piece), writer_);
}

void PrefixedOutput::break_line(std::string& line, std::string& piece) const {
  std::string_view left = line;
  while (left.size() > kLongestLine) {
    const auto point = breaking_point(left);
    append_line(left.substr(0, point), piece);
    left.remove_prefix(point);
  }
  line.erase(0, line.size() - left.size());
}

void PrefixedOutput::append_line(std::string_view line, std::string& piece) const {
  piece += prefix_;
  piece += line;
  piece += '\n';
}

bool PrefixedOutput::ready() const { return has_room(output_, writer_); }

std::optional<Error> PrefixedOutput::failure() const { return output_.failure(); }

void PrefixedOutput::finish() {
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    write_lines(index, streams_[index].visible.end());
    auto& started = streams_[index].started;
    if (!started.empty()) write_lines(index, "\n");
  }
}

unsigned long long PrefixedOutput::total(ssh::OutputStream stream) const {
  return streams_[static_cast<std::size_t>(stream)].total;
}

}  // namespace sshx::exec
