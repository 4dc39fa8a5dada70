#include "exec/run_request.h"

#include <fmt/format.h>

#include <cmath>

#include "core/redact.h"
#include "core/sha256.h"
#include "exec/result.h"
#include "exec/selection.h"

namespace sshx::exec {
namespace {

long long milliseconds(double seconds) { return std::llround(seconds * 1000); }

std::optional<long long> milliseconds(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  return milliseconds(*seconds);
}

template <class T>
std::optional<T> optional_value(const Json& request, const char* name) {
  if (!request.contains(name)) return std::nullopt;
  return request[name].get<T>();
}

Result<std::string> given_input(const Json& request, std::size_t limit,
                                const Confinement& confinement) {
  if (request.contains("stdin")) return request["stdin"].get<std::string>();
  if (request.contains("stdin_base64")) {
    auto bytes = from_base64(request["stdin_base64"].get<std::string>());
    if (!bytes) bytes.error().message = "stdin_base64 is " + bytes.error().message;
    return bytes;
  }
  return read_local_file(confinement, request["stdin_file"].get<std::string>(), limit);
}

Status prepare_input(const Json& request, const Confinement& confinement, RunRequest& run) {
  run.action.stdin_held = request.value("stdin_hold", false);
  int sources = request.value("stdin_inherit", false) ? 1 : 0;
  for (const auto* name : {"stdin", "stdin_base64", "stdin_file"})
    sources += request.contains(name) ? 1 : 0;
  if (sources > 1) {
    return config_error("request_conflict", "stdin is given more than once",
                        "use one of --stdin, --stdin-file, stdin and stdin_base64");
  }
  if (run.action.payload.interpreter && (sources > 0 || run.action.stdin_held)) {
    return config_error("request_conflict", "a script has no stdin that could be given",
                        "its stdin carries the script; run a command that reads stdin instead");
  }
  // Who asks for a terminal wants to type into it.
  const bool typed = run.action.payload.terminal && sources == 0;
  if (request.value("stdin_inherit", false) || typed) {
    run.action.input = InputMode::inherited;
    return {};
  }
  if (sources == 0) return {};
  const auto limit = request["max_payload_bytes"].get<std::size_t>();
  SSHX_TRY(run.input,
           within_limit(given_input(request, limit, confinement), limit, "stdin",
                        "raise --max-payload-bytes, or pass it on as it comes with --stdin"));
  run.action.input = InputMode::given;
  run.action.stdin_bytes = run.input.size();
  return {};
}

Intent intent_of(const Json& request) {
  const auto word = request.value("intent", std::string());
  if (word == "read") return Intent::read;
  return word == "change" ? Intent::change : Intent::unknown;
}

Status prepare_liveness(const Json& request, RunRequest& run) {
  run.liveness.interval_seconds = request["server_alive_interval_seconds"].get<double>();
  run.liveness.count_max = request["server_alive_count_max"].get<unsigned>();
  const auto interval = run.liveness.interval_seconds;
  if (interval == 0 || interval >= ssh::kShortestProbeSeconds) return {};
  return config_error(
      "range",
      fmt::format("server_alive_interval_seconds (--server-alive-interval) is {:g}", interval),
      fmt::format("use at least {} seconds, or 0 to never ask", ssh::kShortestProbeSeconds));
}

Status check_failure_limits(const Json& request) {
  if (!request.value("fail_fast", false) || !request.contains("max_failures")) return {};
  return config_error("request_conflict",
                      "fail_fast (--fail-fast) and max_failures (--max-failures) are both given",
                      "give one: --fail-fast is --max-failures 1");
}

Limits limits_of(const RunRequest& run) {
  return {.connect_timeout_ms = milliseconds(run.request["connect_timeout_seconds"].get<double>()),
          .timeout_ms = milliseconds(run.timeout_seconds),
          .max_output_bytes = run.request["max_output_bytes"].get<long long>(),
          .server_alive_interval_ms = milliseconds(run.liveness.interval_seconds),
          .server_alive_count_max = run.liveness.count_max,
          .host_timeout_ms = milliseconds(run.host_timeout_seconds),
          .global_timeout_ms = milliseconds(run.global_timeout_seconds),
          .fail_fast = run.request["fail_fast"].get<bool>(),
          .max_failures = optional_value<long long>(run.request, "max_failures")};
}

/// The request as a document may repeat it: without secrets typed into the command, and without
/// stdin and script, of which the plan tells the length and, of a script, the digest.
Json shown_request(const Json& request) {
  Json shown = request;
  for (const auto* name : {"command", "bypass_reason"}) {
    if (shown.contains(name)) shown[name] = redact(request[name].get<std::string>());
  }
  for (const auto* name : {"stdin", "stdin_base64", "script"}) {
    if (shown.contains(name)) shown[name] = kRedacted;
  }
  if (!shown.contains("env")) return shown;
  for (auto& variable : shown["env"]) variable = redact(variable.get<std::string>());
  return shown;
}

/// What one caller has only one of cannot be shared among targets.
Status check_several(const RunRequest& run) {
  if (run.is_single) return {};
  if (run.action.payload.terminal) {
    return config_error("request_conflict", "a terminal (--pty) is for one target",
                        "run it on one target, or leave --pty out");
  }
  if (run.action.input != InputMode::inherited) return {};
  return config_error("request_conflict",
                      "the caller's stdin (--stdin) cannot be passed on to several targets",
                      "use --stdin-file, which each of them gets whole");
}

Json targets_json(const RunRequest& run) {
  Json targets = Json::array();
  for (const auto& session : run.sessions) targets.push_back(target_json(session.target));
  return targets;
}

}  // namespace

Result<RunRequest> prepare_run(const Json& request, const Confinement& confinement) {
  if (!request.value("dry_run", false)) {
    SSHX_CHECK(check_may_run(confinement));
  }
  RunRequest run;
  run.request = request;
  SSHX_TRY(run.action.bypass, read_admission(request));
  SSHX_CHECK(check_failure_limits(request));
  run.action.intent = intent_of(request);
  const auto limit = request["max_payload_bytes"].get<std::size_t>();
  SSHX_TRY(run.action.payload, read_payload(request, limit, confinement));
  SSHX_CHECK(prepare_input(request, confinement, run));
  SSHX_CHECK(prepare_liveness(request, run));
  SSHX_TRY(const auto selection, select_targets(request, confinement.reach));
  SSHX_TRY(run.sessions, plan_sessions(request, selection));
  run.is_single = selection.is_single;
  SSHX_CHECK(check_several(run));
  run.timeout_seconds = request["timeout_seconds"].get<double>();
  run.host_timeout_seconds = optional_value<double>(request, "host_timeout_seconds");
  run.global_timeout_seconds = optional_value<double>(request, "global_timeout_seconds");
  if (request["second_channel"] == "never") run.action.second_channel = SecondChannel::never;
  run.concurrency = request["concurrency"].get<long long>();
  run.limits = limits_of(run);
  if (!run.is_single) {
    run.limits.concurrency = run.concurrency;
    run.limits.per_address = optional_value<long long>(request, "per_address");
  }
  run.notes = selection.notes;
  if (!run.sessions.empty()) {
    const auto& warnings = run.sessions.front().trust.known_hosts.warnings();
    run.notes.insert(run.notes.end(), warnings.begin(), warnings.end());
  }
  if (run.action.payload.terminal)
    run.notes.emplace_back("a terminal merges the command's stderr into stdout");
  run.plan = make_plan(kRunOperation, run.sessions, run.action, run.limits);
  return run;
}

std::optional<std::string> request_id_of(const RunRequest& run) {
  return optional_value<std::string>(run.request, "request_id");
}

RunStart run_start(const RunRequest& run) {
  return {.operation = kRunOperation,
          .request_id = request_id_of(run),
          .selected = static_cast<int>(run.sessions.size()),
          .document = run.is_single ? "sshx.result.v1" : "sshx.run.v1",
          .plan_hash = run.plan.hash,
          .warnings = run.notes};
}

Json preview_document(const RunRequest& run) {
  return {{"schema_version", "sshx.request.v1"},
          {"valid", true},
          {"operation", kRunOperation},
          {"request", shown_request(run.request)},
          {"targets", targets_json(run)},
          {"plan", run.plan.document},
          {"notes", run.notes},
          {"error", nullptr},
          {"error_kind", nullptr}};
}

Json invalid_preview_document(const Json& request, const Error& error) {
  return {{"schema_version", "sshx.request.v1"},
          {"valid", false},
          {"operation", kRunOperation},
          {"request", shown_request(request)},
          {"targets", Json::array()},
          {"plan", nullptr},
          {"notes", Json::array()},
          {"error", error_json(&error, kNothingRan)},
          {"error_kind", to_string(error.kind)}};
}

}  // namespace sshx::exec
