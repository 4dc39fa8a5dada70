#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "exec/result.h"

namespace sshx::exec {

/// Where the events of a run go.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  /// Hands on one sshx.event.v1, at once. A fault is the sink's own to keep: it must not stop the
  /// run, which still has to end properly and to leave its evidence.
  virtual void write(const Json& event) = 0;
};

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

/// Writes the events of one run in their order, with the counts that follow from them.
class EventStream {
 public:
  /// Nothing is written to a null `sink`. `started`: when the run began.
  EventStream(EventSink* sink, std::string run_id, Deadline started);

  void run_started(const RunStart& start);
  void target_started(const ExecutionResult& planned);
  /// `result` is finalised and its audit_status is the last one.
  void target_finished(const ExecutionResult& result);
  /// `exit_code`: the process's.
  void run_finished(int exit_code);
  /// What became of the targets so far.
  [[nodiscard]] const TargetCounts& counts() const noexcept { return counts_; }

 private:
  [[nodiscard]] Json next_event(std::string_view name);

  EventSink* sink_;
  std::string run_id_;
  Deadline started_;
  int sequence_ = 0;
  TargetCounts counts_;
};

}  // namespace sshx::exec
