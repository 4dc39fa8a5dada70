#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sshx::mcp {

/// One message as it came, or the fact that one was too large to be taken.
struct Frame {
  std::string text;
  bool too_large = false;
};

/// How messages stand in a byte stream. An interface, since the protocol's next revisions may frame
/// them in another way.
class Framing {
 public:
  Framing() = default;
  Framing(const Framing&) = delete;
  Framing& operator=(const Framing&) = delete;
  virtual ~Framing() = default;

  /// Takes bytes as they come, cut anywhere.
  virtual void receive(std::string_view bytes) = 0;
  /// The next whole message; nothing while none is there.
  [[nodiscard]] virtual std::optional<Frame> next() = 0;
  /// What is left when the stream ends without an end of its last message; nothing if nothing is.
  [[nodiscard]] virtual std::optional<Frame> last() = 0;
  /// `message`, one line of JSON, as it is sent.
  [[nodiscard]] virtual std::string framed(std::string message) const = 0;
};

/// One message a line (MCP, transports: stdio). A carriage return at the end of a line and empty
/// lines are put up with. A line beyond `limit` bytes is skipped to its end.
class LineFraming final : public Framing {
 public:
  explicit LineFraming(std::size_t limit) : limit_(limit) {}

  void receive(std::string_view bytes) override;
  [[nodiscard]] std::optional<Frame> next() override;
  [[nodiscard]] std::optional<Frame> last() override;
  [[nodiscard]] std::string framed(std::string message) const override;

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t begin_ = 0;     ///< Where in the buffer what was not given out begins.
  std::size_t searched_ = 0;  ///< Up to where no end of a line stands after that.
  bool skipping_ = false;
};

}  // namespace sshx::mcp
