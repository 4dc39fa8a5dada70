#include "exec/execution.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "core/identifier.h"
#include "core/text.h"
#include "exec/local_streams.h"
#include "exec/output_events.h"

namespace sshx::exec {
namespace {

/// A cancelled or timed-out login says where it was.
Error at_phase(Error error, const ssh::Observations& observed) {
  if (error.kind == ErrorKind::cancelled && !error.at) {
    error.at = observed.host_key ? Phase::authenticate : Phase::connect;
  }
  return error;
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
    result.termination = co_await terminate(
        runtime, connection, channel, execution.session.target.user, run.action.second_channel);
    result.outcome.request = channel.acknowledgement();
  }
  result.observed.exec_ms = milliseconds_between(started, Clock::now());
}

/// Connection, login, channel and command; up to the command, until `deadline`.
Task<Status> connect_and_run(Runtime runtime, Execution& execution, ssh::CommandStreams streams,
                             std::optional<LocalTerminal>& local, Deadline deadline) {
  const auto& run = execution.run;
  auto& result = execution.result;
  auto connection = co_await open_session(runtime, execution.session, execution.keys, deadline,
                                          result.observed, result.warnings);
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

ExecutionResult::Output captured(const OutputCapture& capture, ssh::OutputStream stream) {
  return {capture.stream(stream).text(), capture.stream(stream).total()};
}

}  // namespace

ExecutionResult planned_result(const RunRequest& run, const SessionRequest& session,
                               std::string run_id) {
  ExecutionResult result;
  result.operation = kRunOperation;
  result.identity = {new_id(), std::move(run_id), request_id_of(run),
                     std::chrono::system_clock::now(), Clock::now()};
  result.target = session.target;
  result.action = run.action;
  result.limits = run.limits;
  result.plan_hash = run.plan.hash;
  result.risk = run.plan.risk;
  result.effects = run.plan.effects;
  result.warnings = run.notes;
  return result;
}

/// The deadlines of a target that starts now, in a run that began at `started`.
RunDeadlines deadlines_of(const RunRequest& run, Deadline started) {
  RunDeadlines deadlines;
  if (run.host_timeout_seconds) deadlines.host = after(*run.host_timeout_seconds);
  if (run.global_timeout_seconds) deadlines.global = after(*run.global_timeout_seconds, started);
  return deadlines;
}

std::unique_ptr<ssh::InputSource> make_input(const RunRequest& run,
                                             const std::shared_ptr<ThreadSignal>& changed) {
  const auto& payload = run.action.payload;
  if (run.action.input == InputMode::inherited)
    return std::make_unique<StreamedInput>(STDIN_FILENO, changed);
  const auto after_last =
      run.action.stdin_held ? GivenInput::AfterLast::stays_open : GivenInput::AfterLast::ends;
  const auto& bytes = payload.interpreter ? payload.bytes.text() : run.input;
  return std::make_unique<GivenInput>(bytes, after_last);
}

Task<Status> carry_out(Runtime runtime, Execution& execution, ssh::CommandStreams streams,
                       std::optional<LocalTerminal>& local) {
  const auto& deadlines = execution.deadlines;
  // Evidence that was slow to keep may have used up all the time; then no packet is sent.
  if (passed(deadlines.earliest())) co_return deadlines.timeout(Phase::connect, execution.place());
  const auto connect_deadline = after(execution.session.connect_timeout_seconds);
  const auto deadline = deadlines.within(connect_deadline);
  auto status = co_await connect_and_run(runtime, execution, streams, local, deadline);
  if (status) co_return status;
  co_return deadlines.named(std::move(status).error(), connect_deadline, execution.place());
}

Task<Status> carry_out_captured(Runtime runtime, Execution& execution,
                                std::shared_ptr<ThreadSignal> changed, EventStream& events) {
  co_await events.taken(runtime, execution.deadlines.earliest(), changed);
  const auto input = make_input(execution.run, changed);
  OutputCapture capture(static_cast<std::size_t>(execution.run.limits.max_output_bytes));
  OutputEvents output(capture, events, execution.result);
  const ssh::CommandStreams streams{*input, output, changed};
  std::optional<LocalTerminal> none;
  auto status = co_await carry_out(runtime, execution, streams, none);
  output.finish();
  execution.result.standard_output = captured(capture, ssh::OutputStream::standard_output);
  execution.result.standard_error = captured(capture, ssh::OutputStream::standard_error);
  co_return status;
}

}  // namespace sshx::exec
