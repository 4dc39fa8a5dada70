#pragma once

#include <string>

#include "core/json.h"
#include "exec/audit_sink.h"
#include "exec/plan.h"
#include "exec/result.h"
#include "exec/session.h"

namespace sshx::exec {

/// How much evidence a run must leave.
enum class AuditMode : std::uint8_t { best_effort, required, off };

/// Where a command's output goes.
enum class OutputMode : std::uint8_t {
  captured,  ///< Into the result, within max_output_bytes.
  streamed,  ///< To the caller's stdout and stderr, all of it, as it comes.
};

/// A checked, resolved and planned request to run one command on one target. Made offline.
struct RunRequest {
  Json request;  ///< As checked, with defaults.
  SessionRequest session;
  ActionSummary action;
  Limits limits;
  std::string input;  ///< The bytes of a given stdin.
  double timeout_seconds = 60;
  Plan plan;
};

/// The rules of `run` across properties, then target, trust, identities and plan. Reads the hosts
/// file, public keys, known_hosts and a stdin file; opens no socket and writes nothing. `request`
/// went through check_request. Returns: config (`required`, `request_conflict`,
/// `payload_too_large`, `base64`, `range`, and what plan_session returns), local_io.
[[nodiscard]] Result<RunRequest> prepare_run(const Json& request);

/// The document sshx.request.v1 of a dry-run.
[[nodiscard]] Json preview_document(const RunRequest& run);
/// The same for a request that could not be prepared.
[[nodiscard]] Json invalid_preview_document(const Json& request, const Error& error);

struct RunOptions {
  OutputMode output = OutputMode::captured;
  AuditMode audit = AuditMode::best_effort;
  /// Null when `audit` is off, or when the store could not be opened, which `audit_failure` tells.
  AuditSink* sink = nullptr;
  std::optional<Error> audit_failure;
};

/// Carries the run out: evidence that it started, connection, command, evidence that it finished.
/// SIGINT, SIGTERM and SIGHUP cancel it. Waits within the request's limits. Whatever happens is in
/// the result; with AuditMode::required nothing is sent unless the started record was kept.
[[nodiscard]] ExecutionResult execute_run(const RunRequest& run, const RunOptions& options);

}  // namespace sshx::exec
