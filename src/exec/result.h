#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error_json.h"
#include "core/json.h"
#include "core/wall_time.h"
#include "exec/output_capture.h"
#include "exec/plan.h"
#include "exec/target.h"
#include "exec/termination.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// How far the operation came, as far as the transport saw (design §3, Completion).
enum class Completion : std::uint8_t {
  not_started,
  partial,
  completed,
  completed_unconfirmed,
  unknown
};
[[nodiscard]] std::string_view to_string(Completion completion) noexcept;

enum class RemoteState : std::uint8_t { not_started, exited, terminated, running, unknown };
[[nodiscard]] std::string_view to_string(RemoteState state) noexcept;

enum class AuditStatus : std::uint8_t { written, failed, disabled };
[[nodiscard]] std::string_view to_string(AuditStatus status) noexcept;

/// The ids and times of one execution.
struct ExecutionIdentity {
  std::string execution_id;
  std::string run_id;
  std::optional<std::string> request_id;
  WallTime started_at;
  Deadline started_clock;
};

/// Everything that one execution on one target was seen to do. It claims nothing that was not
/// observed; finalise() sets the fields that follow from the others.
struct ExecutionResult {
  std::string operation;
  ExecutionIdentity identity;
  Target target;
  ActionSummary action;
  Limits limits;
  std::string plan_hash;
  Risk risk = Risk::mutation;
  std::vector<std::string> effects;

  ssh::CommandOutcome outcome;
  /// Set when the command was stopped before its own end.
  std::optional<Termination> termination;
  ssh::Observations observed;
  std::optional<Error> error;
  std::vector<std::string> warnings;
  long long duration_ms = 0;
  AuditStatus audit_status = AuditStatus::disabled;
  bool skipped = false;  ///< It was selected and never started; `error` says why.

  struct Output {
    StreamCapture::Text text{
        .text = {}, .encoding = "utf-8", .omitted = 0, .omitted_at = std::nullopt};
    unsigned long long total = 0;
  };
  Output standard_output;
  Output standard_error;

  /// Follow from the above.
  Completion completion = Completion::not_started;
  std::optional<bool> executed = false;
  RemoteState remote_state = RemoteState::not_started;
  std::string fingerprint;

  [[nodiscard]] bool success() const { return !error.has_value(); }
};

/// Judges what was seen: completion, executed, remote_state, the error of a non-zero or missing
/// exit, and the fingerprint. Call once, after everything else is set.
void finalise(ExecutionResult& result);

/// The document sshx.result.v1.
[[nodiscard]] Json result_document(const ExecutionResult& result);

/// Whether sending the same request again can do harm: safe, verify_first, unsafe or unknown.
[[nodiscard]] std::string_view retry_safety(const ExecutionResult& result) noexcept;

/// The process's exit code (design §2.8): the remote status 0..254, 128+n for a remote signal, else
/// 255.
[[nodiscard]] int exit_code(const ExecutionResult& result) noexcept;

/// "KILL" to 9; nothing for a name that this system does not know.
[[nodiscard]] std::optional<int> signal_number(std::string_view name) noexcept;

}  // namespace sshx::exec
