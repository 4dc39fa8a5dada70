#pragma once

#include <functional>
#include <vector>

#include "exec/event_stream.h"
#include "exec/run.h"

namespace sshx::exec {

/// Who hears how a run on several targets goes on.
class FanOutReceiver {
 public:
  FanOutReceiver() = default;
  FanOutReceiver(const FanOutReceiver&) = delete;
  FanOutReceiver& operator=(const FanOutReceiver&) = delete;
  virtual ~FanOutReceiver() = default;

  /// Called a few times a second while anything runs.
  virtual void tick() = 0;
  virtual void target_started(const ExecutionResult& planned) = 0;
  virtual void target_finished(const ExecutionResult& result) = 0;
  /// The caller asked to stop, and what runs is about to be ended.
  virtual void cancelled() = 0;
  /// From now on lines of targets go through `output`, whose sink 1 is stderr: whoever writes there
  /// as well has to take the same way, so that nothing gets into anything else. Null once all of
  /// them are in it.
  virtual void output_through(InheritedOutput* output) = 0;
  /// Lines of a target are about to be written.
  virtual void before_lines() = 0;
};

/// What came of a run on several targets (sshx.run.v1).
struct RunReport {
  std::string run_id;
  /// In the order of the targets, whatever became of them; without the output of those that an
  /// event has told of.
  std::vector<ExecutionResult> results;
  TargetCounts counts;
  WallTime started_at;
  long long duration_ms = 0;
};

/// Carries the run out on all its targets, on one loop, at most `concurrency` at a time, in their
/// order. One that fails stops no other; fail_fast, max_failures, the global deadline and a
/// cancellation stop further ones from being started, and those are `skipped`. What was started is
/// ended and looked for as in execute_run. Each target leaves evidence of its own under one run_id.
/// A server that closes the connection before its banner, as sshd does beyond MaxStartups, is tried
/// again, fewer at a time.
[[nodiscard]] RunReport execute_fan_out(const RunRequest& run, const RunOptions& options,
                                        FanOutReceiver& receiver);

/// The document sshx.run.v1 as text, since thousands of results are ten times as large as values.
[[nodiscard]] std::string run_document(const RunRequest& run, const RunReport& report);

/// 0 when all targets succeeded, else 1.
[[nodiscard]] int exit_code(const RunReport& report) noexcept;

}  // namespace sshx::exec
