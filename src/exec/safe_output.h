#pragma once

#include <array>

#include "core/utf8.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// What becomes of control bytes that a command prints.
enum class ControlBytes : std::uint8_t { kept, visible };

/// Hands a command's output on with its control bytes made visible (see printable()), newline and
/// tab excepted, so that it can neither drive nor deceive a terminal.
class SafeOutput final : public ssh::OutputReceiver {
 public:
  /// `next` must outlive this.
  explicit SafeOutput(ssh::OutputReceiver& next) : next_(next) {}

  void receive(ssh::OutputStream stream, std::string_view bytes) override;
  [[nodiscard]] bool ready() const override { return next_.ready(); }
  [[nodiscard]] std::optional<Error> failure() const override { return next_.failure(); }

  /// Hands on what a stream ended in the middle of.
  void finish();

 private:
  ssh::OutputReceiver& next_;
  std::array<PrintableStream, 2> streams_;
};

}  // namespace sshx::exec
