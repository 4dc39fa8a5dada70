#include "exec/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "core/file.h"
#include "core/identifier.h"
#include "core/paths.h"
#include "core/redact.h"
#include "core/sha256.h"
#include "exec/audit_record.h"
#include "exec/local_streams.h"

namespace sshx::exec {
namespace {

constexpr std::string_view kOperation = "run";
/// libssh2 sends a command in one packet of at most 35,000 bytes.
constexpr std::size_t kLongestCommand = 32000;
/// How long a reader that has stalled is waited for once the command is over and the run failed
/// anyway.
constexpr double kStalledReaderSeconds = 1;

long long milliseconds(double seconds) { return std::llround(seconds * 1000); }

Result<std::string> given_input(const Json& request, std::size_t limit) {
  if (request.contains("stdin")) return request["stdin"].get<std::string>();
  if (request.contains("stdin_base64")) {
    auto bytes = from_base64(request["stdin_base64"].get<std::string>());
    if (!bytes) bytes.error().message = "stdin_base64 is " + bytes.error().message;
    return bytes;
  }
  SSHX_TRY(const auto path, expand_home(request["stdin_file"].get<std::string>()));
  return read_file(path, limit);
}

Status prepare_input(const Json& request, RunRequest& run) {
  int sources = request.value("stdin_inherit", false) ? 1 : 0;
  for (const auto* name : {"stdin", "stdin_base64", "stdin_file"})
    sources += request.contains(name) ? 1 : 0;
  if (sources > 1) {
    return config_error("request_conflict", "stdin is given more than once",
                        "use one of --stdin, --stdin-file, stdin and stdin_base64");
  }
  if (sources == 0) return {};
  if (request.value("stdin_inherit", false)) {
    run.action.input = InputMode::inherited;
    return {};
  }
  const auto limit = request["max_payload_bytes"].get<std::size_t>();
  auto input = given_input(request, limit);
  const bool too_large = input ? input->size() > limit : input.error().code == "too_large";
  if (too_large) {
    return config_error("payload_too_large", fmt::format("stdin has more than {} bytes", limit),
                        "raise --max-payload-bytes, or pass it on as it comes with --stdin");
  }
  if (!input) return std::move(input).error();
  run.input = std::move(*input);
  run.action.input = InputMode::given;
  run.action.stdin_bytes = run.input.size();
  return {};
}

Intent intent_of(const Json& request) {
  const auto word = request.value("intent", std::string());
  if (word == "read") return Intent::read;
  return word == "change" ? Intent::change : Intent::unknown;
}

Status prepare_action(const Json& request, RunRequest& run) {
  const auto command = request.value("command", std::string());
  if (command.empty()) {
    return config_error("required", "no command is given",
                        "put it after --, as in: sshx run --target NAME -- uptime");
  }
  if (command.size() > kLongestCommand) {
    return config_error(
        "range",
        fmt::format("command has {} bytes; at most {} can be sent", command.size(),
                    kLongestCommand),
        "copy a script to the host, or give it as stdin to a shell: --stdin-file FILE -- sh -s");
  }
  run.action.intent = intent_of(request);
  run.action.command = command;
  run.action.payload_sha256 = sha256_label(command);
  run.action.payload_bytes = command.size();
  return prepare_input(request, run);
}

/// The request as a document may repeat it: without secrets typed into the command, and without
/// stdin, which the plan tells by its length.
Json shown_request(const Json& request) {
  Json shown = request;
  if (shown.contains("command")) shown["command"] = redact(request["command"].get<std::string>());
  for (const auto* name : {"stdin", "stdin_base64"}) {
    if (shown.contains(name)) shown[name] = kRedacted;
  }
  return shown;
}

ExecutionResult planned_result(const RunRequest& run) {
  ExecutionResult result;
  result.operation = kOperation;
  result.identity = {new_id(), new_id(), std::nullopt, std::chrono::system_clock::now(),
                     Clock::now()};
  if (run.request.contains("request_id"))
    result.identity.request_id = run.request["request_id"].get<std::string>();
  result.target = run.session.target;
  result.action = run.action;
  result.limits = run.limits;
  result.plan_hash = run.plan.hash;
  result.risk = run.plan.risk;
  result.effects = run.plan.effects;
  result.warnings = run.session.trust.known_hosts.warnings();
  return result;
}

/// A cancelled or timed-out login says where it was.
Error at_phase(Error error, const ssh::Observations& observed) {
  if (error.kind == ErrorKind::cancelled && !error.at) {
    error.at = observed.host_key ? Phase::authenticate : Phase::connect;
  }
  return error;
}

std::unique_ptr<ssh::InputSource> make_input(const RunRequest& run,
                                             const std::shared_ptr<ssh::ThreadSignal>& changed) {
  if (run.action.input == InputMode::inherited)
    return std::make_unique<StreamedInput>(STDIN_FILENO, changed);
  return std::make_unique<GivenInput>(run.input);
}

/// Connection and command; fills in what is seen.
ssh::Task<Status> carry_out(ssh::Runtime runtime, const RunRequest& run,
                            ssh::CommandStreams streams, ExecutionResult& result) {
  const auto connect_deadline = after(run.session.connect_timeout_seconds);
  auto connection = co_await open_session(runtime, run.session, connect_deadline, result.observed,
                                          result.warnings);
  if (!connection) co_return at_phase(std::move(connection).error(), result.observed);
  SSHX_CO_TRY(auto channel, co_await ssh::Channel::open(*connection, connect_deadline));
  const auto started = Clock::now();
  result.outcome = co_await channel.run(run.action.command, streams, after(run.timeout_seconds));
  result.observed.exec_ms = milliseconds_between(started, Clock::now());
  connection->disconnect();
  co_return Status();
}

ExecutionResult::Output captured(const OutputCapture& capture, ssh::OutputStream stream) {
  return {capture.stream(stream).text(), capture.stream(stream).total()};
}

ssh::Task<Status> run_captured(ssh::Runtime runtime, const RunRequest& run,
                               std::shared_ptr<ssh::ThreadSignal> changed,
                               ExecutionResult& result) {
  const auto input = make_input(run, changed);
  OutputCapture capture(static_cast<std::size_t>(run.limits.max_output_bytes));
  const ssh::CommandStreams streams{*input, capture, changed};
  auto status = co_await carry_out(runtime, run, streams, result);
  result.standard_output = captured(capture, ssh::OutputStream::standard_output);
  result.standard_error = captured(capture, ssh::OutputStream::standard_error);
  co_return status;
}

ssh::Task<Status> run_streamed(ssh::Runtime runtime, const RunRequest& run,
                               std::shared_ptr<ssh::ThreadSignal> changed,
                               ExecutionResult& result) {
  const auto input = make_input(run, changed);
  StreamedOutput output(STDOUT_FILENO, STDERR_FILENO, changed);
  const ssh::CommandStreams streams{*input, output, changed};
  auto status = co_await carry_out(runtime, run, streams, result);
  const bool ended_well = status && !result.outcome.stopped;
  const auto until = ended_well ? kNoDeadline : after(kStalledReaderSeconds);
  co_await output.drain(runtime, until);
  result.standard_output.total = output.total(ssh::OutputStream::standard_output);
  result.standard_error.total = output.total(ssh::OutputStream::standard_error);
  const auto failure = output.failure();
  if (status && failure) co_return *failure;
  co_return status;
}

Status run_on_loop(const RunRequest& run, OutputMode mode, ExecutionResult& result) {
  SSHX_TRY(const auto changed, ssh::ThreadSignal::make());
  return ssh::run_cancellable([&](ssh::Runtime runtime) {
    return mode == OutputMode::captured ? run_captured(runtime, run, changed, result)
                                        : run_streamed(runtime, run, changed, result);
  });
}

/// Evidence before anything else: what to say when it cannot be kept.
std::optional<Error> keep_started(const ExecutionResult& planned, const RunOptions& options) {
  if (options.audit == AuditMode::off) return std::nullopt;
  if (options.sink == nullptr) return options.audit_failure;
  auto kept = options.sink->append(started_record(planned));
  if (kept) return std::nullopt;
  return std::move(kept).error();
}

void keep_finished(ExecutionResult& result, const RunOptions& options) {
  if (options.sink == nullptr || result.audit_status != AuditStatus::written) return;
  const auto kept = options.sink->append(finished_record(result));
  if (kept) return;
  result.audit_status = AuditStatus::failed;
  result.warnings.push_back("the end of this execution is not in the evidence: " +
                            kept.error().message);
}

}  // namespace

Result<RunRequest> prepare_run(const Json& request) {
  RunRequest run;
  run.request = request;
  SSHX_CHECK(prepare_action(request, run));
  SSHX_TRY(run.session, plan_session(request));
  run.timeout_seconds = request["timeout_seconds"].get<double>();
  run.limits = {milliseconds(run.session.connect_timeout_seconds),
                milliseconds(run.timeout_seconds), request["max_output_bytes"].get<long long>()};
  run.plan = make_plan(kOperation, run.session, run.action, run.limits);
  return run;
}

Json preview_document(const RunRequest& run) {
  return {{"schema_version", "sshx.request.v1"},
          {"valid", true},
          {"operation", kOperation},
          {"request", shown_request(run.request)},
          {"targets", Json::array({target_json(run.session.target)})},
          {"plan", run.plan.document},
          {"notes", run.session.trust.known_hosts.warnings()},
          {"error", nullptr},
          {"error_kind", nullptr}};
}

Json invalid_preview_document(const Json& request, const Error& error) {
  return {{"schema_version", "sshx.request.v1"},
          {"valid", false},
          {"operation", kOperation},
          {"request", shown_request(request)},
          {"targets", Json::array()},
          {"plan", nullptr},
          {"notes", Json::array()},
          {"error", error_json(&error, kNothingRan)},
          {"error_kind", to_string(error.kind)}};
}

ExecutionResult execute_run(const RunRequest& run, const RunOptions& options) {
  auto result = planned_result(run);
  const auto audit_failure = keep_started(result, options);
  result.audit_status = options.audit == AuditMode::off ? AuditStatus::disabled
                        : audit_failure                 ? AuditStatus::failed
                                                        : AuditStatus::written;
  if (audit_failure && options.audit == AuditMode::required) {
    result.error = audit_failure;
    result.error->at = Phase::admission;
  } else {
    if (audit_failure) result.warnings.push_back("no evidence is kept: " + audit_failure->message);
    auto status = run_on_loop(run, options.output, result);
    if (!status) result.error = std::move(status).error();
  }
  result.duration_ms = milliseconds_between(result.identity.started_clock, Clock::now());
  finalise(result);
  keep_finished(result, options);
  return result;
}

}  // namespace sshx::exec
