#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "exec/result.h"
#include "loop/inherited_streams.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// What became of the targets of a run; each that has finished is in one of the last four.
struct TargetCounts {
  int selected = 0;
  int started = 0;
  int succeeded = 0;
  int failed = 0;
  int skipped = 0;
  int uncertain = 0;  ///< Nobody can tell whether or how far it ran.

  /// Counts a finalised result.
  void add(const ExecutionResult& result);
};

/// What is known of a run before its first target is started.
struct RunStart {
  std::string_view operation;
  std::optional<std::string> request_id;
  int selected = 0;
  std::string_view document;  ///< What --json would answer with.
  std::string plan_hash;
  std::vector<std::string> warnings;
};

/// The contract's `counts` object.
[[nodiscard]] Json counts_json(const TargetCounts& counts);

/// A piece of what a command printed.
struct OutputPiece {
  ssh::OutputStream stream;
  unsigned long long offset;  ///< Bytes of that stream before it.
  std::string_view bytes;
};

/// Where events go.
struct EventSink {
  InheritedOutput* output =
      nullptr;               ///< Its sink 0 takes them; null: nobody wants to hear of them.
  bool with_output = false;  ///< What commands print is an event, too.
};

/// Writes the events of one run in their order, a line each, with the counts that follow from them.
/// A fault of the reader is the output's to keep: it must not stop the run, which still has to end
/// properly and to leave its evidence.
class EventStream {
 public:
  /// `started`: when the run began.
  EventStream(EventSink lines, std::string run_id, Deadline started);

  void run_started(const RunStart& start);
  void target_started(const ExecutionResult& planned);
  /// `writer`: the target's own among those of lines().
  void target_output(const ExecutionResult& target, const OutputPiece& piece,
                     InheritedOutput::Writer writer);
  /// `result` is finalised and its audit_status is the last one.
  void target_finished(const ExecutionResult& result);
  /// `exit_code`: the process's.
  void run_finished(int exit_code);
  /// Waits until the reader has taken the events so far, those of output excepted, a write has
  /// failed, the caller cancels or `deadline` passes. `changed` as for InheritedOutput::drain.
  [[nodiscard]] Task<void> taken(Runtime runtime, Deadline deadline,
                                 std::shared_ptr<ThreadSignal> changed);
  [[nodiscard]] const EventSink& lines() const noexcept { return lines_; }
  /// What became of the targets so far.
  [[nodiscard]] const TargetCounts& counts() const noexcept { return counts_; }

 private:
  [[nodiscard]] Json next_event(std::string_view name);
  void write(const Json& event, InheritedOutput::Writer writer = InheritedOutput::Writer::first);

  EventSink lines_;
  std::string run_id_;
  Deadline started_;
  int sequence_ = 0;
  TargetCounts counts_;
};

}  // namespace sshx::exec
