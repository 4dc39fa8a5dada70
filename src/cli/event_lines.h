#pragma once

#include <memory>

#include "exec/event_stream.h"

namespace sshx::cli {

/// Stdout as the reader of a run's events.
class EventLines {
 public:
  /// Returns: internal when the system has no descriptor left.
  [[nodiscard]] static Result<EventLines> open();

  /// Where the exec room writes them; `with_output` as asked for.
  [[nodiscard]] exec::EventSink sink(bool with_output) noexcept {
    return {output_.get(), with_output};
  }

  /// Waits until the reader has taken all of them, or a signal ends the wait. Gives back the exit
  /// code of the process: `exit_code`, or 255 where a part did not get there, which is reported
  /// then. That is no refusal: no document may follow half a line.
  [[nodiscard]] int finish(int exit_code);

 private:
  explicit EventLines(std::shared_ptr<ThreadSignal> changed);
  std::unique_ptr<InheritedOutput> output_;
};

}  // namespace sshx::cli
