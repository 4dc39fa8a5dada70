#pragma once

#include <optional>

#include "exec/event_stream.h"

namespace sshx::cli {

/// Prints the events of a run on stdout, a line each. The first one that cannot be written is the
/// last: half a line may be out by then.
class EventLines final : public exec::EventSink {
 public:
  /// Waits for the reader.
  void write(const Json& event) override;
  /// local_io, as Terminal::out.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  std::optional<Error> failure_;
};

}  // namespace sshx::cli
