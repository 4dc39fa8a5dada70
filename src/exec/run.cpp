#include "exec/run.h"

#include <unistd.h>

#include <csignal>

#include "core/identifier.h"
#include "exec/audit_record.h"
#include "exec/local_streams.h"
#include "exec/local_terminal.h"
#include "exec/safe_output.h"

namespace sshx::exec {
namespace {

/// How long a reader that has stalled is waited for once the command is over and the run failed
/// anyway.
constexpr double kStalledReaderSeconds = 1;

ExecutionResult planned_result(const RunRequest& run) {
  ExecutionResult result;
  result.operation = kRunOperation;
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
  result.warnings = run.notes;
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
                                             const std::shared_ptr<ThreadSignal>& changed) {
  const auto& payload = run.action.payload;
  if (run.action.input == InputMode::inherited)
    return std::make_unique<StreamedInput>(STDIN_FILENO, changed);
  const auto after_last =
      run.action.stdin_held ? GivenInput::AfterLast::stays_open : GivenInput::AfterLast::ends;
  return std::make_unique<GivenInput>(payload.interpreter ? payload.bytes : run.input, after_last);
}

/// Whether something was started whose end was not seen, on a connection that still stands.
bool is_left_running(const ssh::CommandOutcome& outcome) {
  const bool started = outcome.request == ssh::Acknowledgement::awaited ||
                       outcome.request == ssh::Acknowledgement::success;
  return started && outcome.stopped && !outcome.cut_off() && !outcome.exit_seen() &&
         !outcome.closed;
}

/// Opens a terminal on `channel` for the local one, which turns raw; `resized` passes its size on.
Task<Status> open_terminal(Runtime runtime, ssh::Channel& channel, Deadline deadline,
                           std::optional<LocalTerminal>& local,
                           std::optional<SignalWatch>& resized) {
  local.emplace();
  SSHX_CO_CHECK(co_await channel.request_terminal(LocalTerminal::type(), local->size(), deadline));
  auto resize = [&channel, &local] { channel.resize_terminal(local->size()); };
  resized.emplace(runtime.context, SIGWINCH, std::move(resize));
  co_return Status();
}

/// Connection and command; fills in what is seen.
Task<Status> carry_out(Runtime runtime, const RunRequest& run, ssh::CommandStreams streams,
                       std::optional<LocalTerminal>& local, ExecutionResult& result) {
  const auto connect_deadline = after(run.session.connect_timeout_seconds);
  auto connection = co_await open_session(runtime, run.session, connect_deadline, result.observed,
                                          result.warnings);
  if (!connection) co_return at_phase(std::move(connection).error(), result.observed);
  SSHX_CO_TRY(auto channel, co_await ssh::Channel::open(*connection, connect_deadline));
  connection->watch(run.liveness);
  std::optional<SignalWatch> resized;
  if (run.action.payload.terminal) {
    SSHX_CO_CHECK(co_await open_terminal(runtime, channel, connect_deadline, local, resized));
  }
  const auto started = Clock::now();
  const auto command = exec_request(run.action.payload);
  result.outcome = co_await channel.run(command, streams, after(run.timeout_seconds));
  if (is_left_running(result.outcome)) {
    result.termination = co_await terminate(runtime, *connection, channel, run.session.target.user,
                                            run.action.second_channel);
    result.outcome.request = channel.acknowledgement();
  }
  result.observed.exec_ms = milliseconds_between(started, Clock::now());
  connection->disconnect();
  co_return Status();
}

ExecutionResult::Output captured(const OutputCapture& capture, ssh::OutputStream stream) {
  return {capture.stream(stream).text(), capture.stream(stream).total()};
}

Task<Status> run_captured(Runtime runtime, const RunRequest& run,
                          std::shared_ptr<ThreadSignal> changed, ExecutionResult& result) {
  const auto input = make_input(run, changed);
  OutputCapture capture(static_cast<std::size_t>(run.limits.max_output_bytes));
  const ssh::CommandStreams streams{*input, capture, changed};
  std::optional<LocalTerminal> none;
  auto status = co_await carry_out(runtime, run, streams, none, result);
  result.standard_output = captured(capture, ssh::OutputStream::standard_output);
  result.standard_error = captured(capture, ssh::OutputStream::standard_error);
  co_return status;
}

Task<Status> run_streamed(Runtime runtime, const RunRequest& run, bool safely,
                          std::shared_ptr<ThreadSignal> changed, ExecutionResult& result) {
  const auto input = make_input(run, changed);
  StreamedOutput output(STDOUT_FILENO, STDERR_FILENO, changed);
  SafeOutput safe(output);
  ssh::OutputReceiver& receiver = safely ? static_cast<ssh::OutputReceiver&>(safe) : output;
  const ssh::CommandStreams streams{*input, receiver, changed};
  // Raw until the last of the output was written.
  std::optional<LocalTerminal> local;
  auto status = co_await carry_out(runtime, run, streams, local, result);
  safe.finish();
  const bool ended_well = status && !result.outcome.stopped;
  const auto until = ended_well ? kNoDeadline : after(kStalledReaderSeconds);
  co_await output.drain(runtime, until);
  result.standard_output.total = output.total(ssh::OutputStream::standard_output);
  result.standard_error.total = output.total(ssh::OutputStream::standard_error);
  const auto failure = output.failure();
  if (status && failure) co_return *failure;
  co_return status;
}

Status run_on_loop(const RunRequest& run, const RunOptions& options, ExecutionResult& result) {
  SSHX_TRY(const auto changed, ThreadSignal::make());
  return run_cancellable([&](Runtime runtime) {
    return options.output == OutputMode::captured
               ? run_captured(runtime, run, changed, result)
               : run_streamed(runtime, run, options.safe_output, changed, result);
  });
}

/// Evidence before anything else: what to say when it cannot be kept.
std::optional<Error> keep_started(const ExecutionResult& planned, const RunOptions& options) {
  if (options.audit == AuditMode::off) return std::nullopt;
  if (options.sink == nullptr) return options.audit_failure;
  auto kept = options.sink->append(started_record(planned, to_string(options.entry)));
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

std::string_view to_string(Entry entry) noexcept { return entry == Entry::mcp ? "mcp" : "cli"; }

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
    auto status = run_on_loop(run, options, result);
    if (!status) result.error = std::move(status).error();
  }
  result.duration_ms = milliseconds_between(result.identity.started_clock, Clock::now());
  finalise(result);
  keep_finished(result, options);
  return result;
}

}  // namespace sshx::exec
