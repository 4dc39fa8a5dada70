#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// Keeps the head and the tail of one stream, so that its form in the document stays within a
/// limit, and counts all.
class StreamCapture {
 public:
  /// `limit`: most bytes of the stream's text as it stands in the JSON document, escapes and base64
  /// included.
  explicit StreamCapture(std::size_t limit) : limit_(limit) {}

  void append(std::string_view bytes);
  [[nodiscard]] unsigned long long total() const noexcept { return total_; }

  /// What the document says of the stream.
  struct Text {
    std::string text;
    std::string_view encoding;                     ///< "utf-8" or "base64"
    unsigned long long omitted = 0;                ///< Bytes left out.
    std::optional<unsigned long long> omitted_at;  ///< Where they are missing in the decoded text.
  };
  [[nodiscard]] Text text() const;

 private:
  void drop_excess_tail();
  [[nodiscard]] Text cut(std::string_view head, std::string_view tail) const;

  std::size_t limit_;
  std::string head_;
  std::string tail_;
  unsigned long long total_ = 0;
};

/// Takes a command's output into two captures; never full, never failing.
class OutputCapture final : public ssh::OutputReceiver {
 public:
  explicit OutputCapture(std::size_t limit)
      : streams_{StreamCapture(limit), StreamCapture(limit)} {}

  void receive(ssh::OutputStream stream, std::string_view bytes) override {
    streams_[static_cast<std::size_t>(stream)].append(bytes);
  }
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::optional<Error> failure() const override { return std::nullopt; }

  [[nodiscard]] const StreamCapture& stream(ssh::OutputStream stream) const {
    return streams_[static_cast<std::size_t>(stream)];
  }

 private:
  std::array<StreamCapture, 2> streams_;
};

}  // namespace sshx::exec
