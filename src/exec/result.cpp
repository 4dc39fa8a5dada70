#include "exec/result.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "core/redact.h"
#include "core/sha256.h"
#include "core/utf8.h"

namespace sshx::exec {
namespace {

using ssh::Acknowledgement;

constexpr int kFailure = 255;
constexpr int kSignalBase = 128;

/// The rule of design §3: never less than was attempted, never more than was seen.
Completion completion_of(const ExecutionResult& result) {
  const auto& outcome = result.outcome;
  switch (outcome.request) {
  case Acknowledgement::not_sent:
  case Acknowledgement::failure: return Completion::not_started;
  case Acknowledgement::awaited: return Completion::unknown;
  case Acknowledgement::success: break;
  }
  if (outcome.exit_seen()) return Completion::completed;
  if (outcome.closed) return Completion::completed_unconfirmed;
  return outcome.cut_off() ? Completion::unknown : Completion::partial;
}

std::optional<bool> executed_of(const ssh::CommandOutcome& outcome) {
  switch (outcome.request) {
  case Acknowledgement::not_sent:
  case Acknowledgement::failure: return false;
  case Acknowledgement::awaited: return std::nullopt;
  case Acknowledgement::success: return true;
  }
  return std::nullopt;
}

RemoteState remote_state_of(const ExecutionResult& result) {
  if (result.executed == false) return RemoteState::not_started;
  if (result.outcome.exit_seen()) return RemoteState::exited;
  if (!result.termination) return RemoteState::unknown;
  switch (result.termination->ending) {
  case Ending::terminated: return RemoteState::terminated;
  case Ending::running: return RemoteState::running;
  case Ending::exited: return RemoteState::exited;
  case Ending::unknown: break;
  }
  return RemoteState::unknown;
}

/// The error that the exit evidence itself makes; nothing after status 0.
std::optional<Error> exit_error(const ExecutionResult& result) {
  const auto& outcome = result.outcome;
  if (outcome.exit_signal) {
    return Error{ErrorKind::remote_exit,
                 "signal",
                 fmt::format("the command on {} was ended by signal {}", result.target.name(),
                             printable(*outcome.exit_signal)),
                 {}};
  }
  if (!outcome.exit_status) {
    return Error{ErrorKind::exit_missing, "closed",
                 fmt::format("{} closed the channel without an exit status", result.target.name()),
                 "look on the host whether the command did its work"};
  }
  if (*outcome.exit_status == 0) return std::nullopt;
  return Error{ErrorKind::remote_exit,
               "status",
               fmt::format("the command on {} ended with status {}", result.target.name(),
                           *outcome.exit_status),
               {}};
}

std::string_view change_state(const ExecutionResult& result) {
  return result.executed == false ? "unchanged" : "unknown";
}

std::string_view phase_of(const ExecutionResult& result) {
  return to_string(result.error ? result.error->phase() : Phase::complete);
}

std::string_view status_of(const ExecutionResult& result) {
  if (result.skipped) return "skipped";
  return result.success() ? "succeeded" : "failed";
}

Json identity_json(const ExecutionResult& result) {
  Json json = Json::object();
  json["schema_version"] = "sshx.result.v1";
  json["execution_id"] = result.identity.execution_id;
  json["parent_execution_id"] = nullptr;
  json["run_id"] = result.identity.run_id;
  json["request_id"] =
      result.identity.request_id ? Json(*result.identity.request_id) : Json(nullptr);
  return json;
}

Json peers_json(const ExecutionResult& result) {
  if (result.observed.peer_address.empty()) return Json::array();
  const auto& key = result.observed.host_key;
  return Json::array(
      {{{"address", result.observed.peer_address},
        {"port", result.target.port},
        {"host_key_fingerprint", key ? Json(sshx::fingerprint(*key)) : Json(nullptr)},
        {"user", result.target.user},
        {"credential_refs", Json::array()}}});
}

void add_outcome(Json& json, const ExecutionResult& result) {
  const auto* error = result.error ? &*result.error : nullptr;
  const auto& outcome = result.outcome;
  json["status"] = status_of(result);
  json["phase"] = phase_of(result);
  json["completion"] = to_string(result.completion);
  json["executed"] = result.executed ? Json(*result.executed) : Json(nullptr);
  json["change_state"] = change_state(result);
  json["remote_state"] = to_string(result.remote_state);
  const bool of_sshx = error != nullptr && error->kind != ErrorKind::remote_exit;
  const bool by_status = outcome.exit_status && !outcome.exit_signal && !of_sshx;
  json["exit_code"] = by_status ? Json(*outcome.exit_status) : Json(-1);
  json["signal"] = outcome.exit_signal ? Json(*outcome.exit_signal) : Json(nullptr);
  json["core_dumped"] = nullptr;
  json["success"] = result.success();
  json["error"] = error_json(error, retry_safety(result));
  json["error_kind"] = error != nullptr ? Json(to_string(error->kind)) : Json(nullptr);
}

void add_evidence(Json& json, const ExecutionResult& result) {
  const auto& method = result.observed.auth_method;
  json["auth_method"] = method.empty() ? Json(nullptr) : Json(method);
  json["peers"] = peers_json(result);
  json["plan_hash"] = result.plan_hash;
  json["risk"] = to_string(result.risk);
  json["effects"] = result.effects;
  json["bypass"] = bypass_json(result.action.bypass);
  json["verified"] = nullptr;
  json["verification"] = nullptr;
  json["preconditions"] = Json::array();
  json["postconditions"] = Json::array();
  json["execution_fingerprint"] = result.fingerprint;
  json["audit_status"] = to_string(result.audit_status);
  json["warnings"] = result.warnings;
}

void add_stream(Json& json, std::string_view name, const ExecutionResult::Output& output) {
  const auto key = [&](std::string_view suffix) { return fmt::format("{}{}", name, suffix); };
  json[key("")] = output.text.text;
  json[key("_encoding")] = output.text.encoding;
  json[key("_bytes")] = output.total;
  json[key("_truncated")] = output.text.omitted > 0;
  json[key("_omitted_bytes")] = output.text.omitted;
  json[key("_omitted_at")] = output.text.omitted_at ? Json(*output.text.omitted_at) : Json(nullptr);
}

/// The facts alone: no ids, no times, nothing about how they were kept.
std::string fingerprint_of(const ExecutionResult& result) {
  auto facts = result_document(result);
  for (const auto* name :
       {"execution_id", "parent_execution_id", "run_id", "request_id", "started_at", "duration_ms",
        "timings", "execution_fingerprint", "audit_status"}) {
    facts.erase(name);
  }
  return sha256_label(canonical_json(facts));
}

}  // namespace

std::string_view to_string(Completion completion) noexcept {
  switch (completion) {
  case Completion::not_started: return "not_started";
  case Completion::partial: return "partial";
  case Completion::completed: return "completed";
  case Completion::completed_unconfirmed: return "completed_unconfirmed";
  case Completion::unknown: return "unknown";
  }
  return "";
}

std::string_view to_string(RemoteState state) noexcept {
  switch (state) {
  case RemoteState::not_started: return "not_started";
  case RemoteState::exited: return "exited";
  case RemoteState::terminated: return "terminated";
  case RemoteState::running: return "running";
  case RemoteState::unknown: return "unknown";
  }
  return "";
}

std::string_view to_string(AuditStatus status) noexcept {
  switch (status) {
  case AuditStatus::written: return "written";
  case AuditStatus::failed: return "failed";
  case AuditStatus::disabled: return "disabled";
  }
  return "";
}

std::string_view retry_safety(const ExecutionResult& result) noexcept {
  if (result.completion == Completion::not_started) return kNothingRan;
  if (result.action.intent == Intent::read) return "safe";
  if (result.risk == Risk::destructive) return "unsafe";
  return "verify_first";
}

void finalise(ExecutionResult& result) {
  if (!result.error) result.error = result.outcome.stopped;
  const bool attempted = result.outcome.request == Acknowledgement::success ||
                         result.outcome.request == Acknowledgement::awaited;
  if (!result.error && attempted) result.error = exit_error(result);
  result.executed = executed_of(result.outcome);
  result.completion = completion_of(result);
  result.remote_state = remote_state_of(result);
  if (result.outcome.output_left_open) result.warnings.emplace_back("output still open");
  if (result.termination && !result.termination->reason.empty()) {
    const bool unknown = result.remote_state == RemoteState::unknown;
    result.warnings.push_back((unknown ? "it may still run: " : "it still runs: ") +
                              result.termination->reason);
  }
  result.fingerprint = fingerprint_of(result);
}

Json result_document(const ExecutionResult& result) {
  auto json = identity_json(result);
  json["operation"] = result.operation;
  json["target"] = target_json(result.target);
  json["host"] = result.target.address;
  json["port"] = result.target.port;
  json["user"] = result.target.user;
  json["action"] = action_json(result.action);
  json["command"] = json["action"]["command"];
  add_outcome(json, result);
  json["started_at"] = rfc3339(result.identity.started_at);
  json["duration_ms"] = result.duration_ms;
  json["timings"] = timings_json(result.observed);
  json["limits"] = limits_json(result.limits);
  add_evidence(json, result);
  add_stream(json, "stdout", result.standard_output);
  add_stream(json, "stderr", result.standard_error);
  return json;
}

std::optional<int> signal_number(std::string_view name) noexcept {
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

int exit_code(const ExecutionResult& result) noexcept {
  const auto& outcome = result.outcome;
  const bool own_failure = result.error && result.error->kind != ErrorKind::remote_exit;
  if (own_failure) return kFailure;
  if (outcome.exit_signal) {
    const auto number = signal_number(*outcome.exit_signal);
    return number ? kSignalBase + *number : kFailure;
  }
  const auto status = outcome.exit_status.value_or(kFailure);
  return status < kFailure ? static_cast<int>(status) : kFailure;
}

}  // namespace sshx::exec
