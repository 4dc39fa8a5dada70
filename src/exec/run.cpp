#include "exec/run.h"

#include <unistd.h>

#include <csignal>

#include "core/identifier.h"
#include "core/text.h"
#include "exec/audit_record.h"
#include "exec/local_streams.h"
#include "exec/local_terminal.h"
#include "exec/run_deadlines.h"
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

/// One target's part of a run: what is to be done, until when, and what comes of it.
struct Execution {
  const RunRequest& run;
  RunDeadlines deadlines;
  ExecutionResult& result;

  [[nodiscard]] std::string place() const {
    return host_and_port(run.session.target.address, run.session.target.port);
  }
};

/// The deadlines of a target that starts now, in a run that began at `started`.
RunDeadlines deadlines_of(const RunRequest& run, Deadline started) {
  RunDeadlines deadlines;
  if (run.host_timeout_seconds) deadlines.host = after(*run.host_timeout_seconds);
  if (run.global_timeout_seconds) deadlines.global = after(*run.global_timeout_seconds, started);
  return deadlines;
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

/// The command on an open channel; what is stopped before its end is ended and looked for.
Task<void> run_command(Runtime runtime, Execution& execution, ssh::Connection& connection,
                       ssh::Channel& channel, ssh::CommandStreams streams) {
  const auto& run = execution.run;
  auto& result = execution.result;
  const auto started = Clock::now();
  const auto command_deadline = after(run.timeout_seconds);
  const auto deadline = execution.deadlines.within(command_deadline);
  const auto command = exec_request(run.action.payload);
  result.outcome = co_await channel.run(command, streams, deadline);
  auto& stopped = result.outcome.stopped;
  if (stopped) {
    stopped = execution.deadlines.named(std::move(*stopped), command_deadline, execution.place());
  }
  if (is_left_running(result.outcome)) {
    result.termination = co_await terminate(runtime, connection, channel, run.session.target.user,
                                            run.action.second_channel);
    result.outcome.request = channel.acknowledgement();
  }
  result.observed.exec_ms = milliseconds_between(started, Clock::now());
}

/// Connection, login, channel and command; up to the command, until `deadline`.
Task<Status> connect_and_run(Runtime runtime, Execution& execution, ssh::CommandStreams streams,
                             std::optional<LocalTerminal>& local, Deadline deadline) {
  const auto& run = execution.run;
  auto& result = execution.result;
  auto connection =
      co_await open_session(runtime, run.session, deadline, result.observed, result.warnings);
  if (!connection) co_return at_phase(std::move(connection).error(), result.observed);
  SSHX_CO_TRY(auto channel, co_await ssh::Channel::open(*connection, deadline));
  connection->watch(run.liveness);
  std::optional<SignalWatch> resized;
  if (run.action.payload.terminal) {
    SSHX_CO_CHECK(co_await open_terminal(runtime, channel, deadline, local, resized));
  }
  // What came in the last moment leaves no time for a command.
  const auto& deadlines = execution.deadlines;
  if (passed(deadlines.earliest())) co_return deadlines.timeout(Phase::execute, execution.place());
  co_await run_command(runtime, execution, *connection, channel, streams);
  connection->disconnect();
  co_return Status();
}

/// All that is done on the target, within the deadlines; fills in what is seen.
Task<Status> carry_out(Runtime runtime, Execution& execution, ssh::CommandStreams streams,
                       std::optional<LocalTerminal>& local) {
  const auto& deadlines = execution.deadlines;
  // Evidence that was slow to keep may have used up all the time; then no packet is sent.
  if (passed(deadlines.earliest())) co_return deadlines.timeout(Phase::connect, execution.place());
  const auto connect_deadline = after(execution.run.session.connect_timeout_seconds);
  const auto deadline = deadlines.within(connect_deadline);
  auto status = co_await connect_and_run(runtime, execution, streams, local, deadline);
  if (status) co_return status;
  co_return deadlines.named(std::move(status).error(), connect_deadline, execution.place());
}

ExecutionResult::Output captured(const OutputCapture& capture, ssh::OutputStream stream) {
  return {capture.stream(stream).text(), capture.stream(stream).total()};
}

Task<Status> run_captured(Runtime runtime, Execution& execution,
                          std::shared_ptr<ThreadSignal> changed) {
  const auto input = make_input(execution.run, changed);
  OutputCapture capture(static_cast<std::size_t>(execution.run.limits.max_output_bytes));
  const ssh::CommandStreams streams{*input, capture, changed};
  std::optional<LocalTerminal> none;
  auto status = co_await carry_out(runtime, execution, streams, none);
  execution.result.standard_output = captured(capture, ssh::OutputStream::standard_output);
  execution.result.standard_error = captured(capture, ssh::OutputStream::standard_error);
  co_return status;
}

Task<Status> run_streamed(Runtime runtime, Execution& execution, bool safely,
                          std::shared_ptr<ThreadSignal> changed) {
  const auto input = make_input(execution.run, changed);
  auto& result = execution.result;
  StreamedOutput output(STDOUT_FILENO, STDERR_FILENO, changed);
  SafeOutput safe(output);
  ssh::OutputReceiver& receiver = safely ? static_cast<ssh::OutputReceiver&>(safe) : output;
  const ssh::CommandStreams streams{*input, receiver, changed};
  // Raw until the last of the output was written.
  std::optional<LocalTerminal> local;
  auto status = co_await carry_out(runtime, execution, streams, local);
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
  Execution execution{run, deadlines_of(run, options.started), result};
  return run_cancellable([&](Runtime runtime) {
    return options.output == OutputMode::captured
               ? run_captured(runtime, execution, changed)
               : run_streamed(runtime, execution, options.safe_output, changed);
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
  EventStream events(options.events, result.identity.run_id, options.started);
  events.run_started(result);
  const auto audit_failure = keep_started(result, options);
  result.audit_status = options.audit == AuditMode::off ? AuditStatus::disabled
                        : audit_failure                 ? AuditStatus::failed
                                                        : AuditStatus::written;
  if (audit_failure && options.audit == AuditMode::required) {
    result.error = audit_failure;
    result.error->at = Phase::admission;
  } else {
    if (audit_failure) result.warnings.push_back("no evidence is kept: " + audit_failure->message);
    events.target_started(result);
    auto status = run_on_loop(run, options, result);
    if (!status) result.error = std::move(status).error();
  }
  result.duration_ms = milliseconds_between(result.identity.started_clock, Clock::now());
  finalise(result);
  keep_finished(result, options);
  events.target_finished(result);
  events.run_finished(exit_code(result));
  return result;
}

}  // namespace sshx::exec
