#pragma once

#include <optional>
#include <string_view>

#include "core/deadline.h"
#include "exec/audit_queue.h"
#include "exec/audit_sink.h"
#include "exec/event_stream.h"
#include "exec/result.h"
#include "exec/run_request.h"

namespace sshx::exec {

/// How much evidence a run must leave.
enum class AuditMode : std::uint8_t { best_effort, required, off };

/// Where a command's output goes.
enum class OutputMode : std::uint8_t {
  captured,  ///< Into the result, within max_output_bytes.
  streamed,  ///< To the caller's stdout and stderr, all of it, as it comes.
};

/// Who called sshx. Metadata for the evidence, which decides nothing.
enum class Entry : std::uint8_t { cli, mcp };

[[nodiscard]] std::string_view to_string(Entry entry) noexcept;

struct RunOptions {
  OutputMode output = OutputMode::captured;
  /// Streamed output with its control bytes made visible.
  bool safe_output = false;
  AuditMode audit = AuditMode::best_effort;
  Entry entry = Entry::cli;
  /// Null when `audit` is off, or when the store could not be opened, which `audit_failure` tells.
  AuditSink* sink = nullptr;
  std::optional<Error> audit_failure;
  /// For a run on several targets, instead of `sink`.
  AuditQueue* queue = nullptr;
  EventSink events;
  /// When the run began, which global_timeout_seconds is counted from.
  Deadline started = Clock::now();
};

/// Carries the run out: evidence that it started, connection, command, evidence that it finished.
/// SIGINT, SIGTERM and SIGHUP cancel it: what was started is ended and looked for first, unless a
/// second one comes. Waits within the request's limits. Nothing is sent before `events` has taken
/// the event that says so; what it has not taken by the end is the caller's to wait for. Whatever
/// happens is in the result; with AuditMode::required nothing is sent unless the started record was
/// kept.
[[nodiscard]] ExecutionResult execute_run(const RunRequest& run, const RunOptions& options);

}  // namespace sshx::exec
