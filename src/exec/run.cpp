#include "exec/run.h"

#include <unistd.h>

#include "core/identifier.h"
#include "exec/evidence.h"
#include "exec/execution.h"
#include "exec/local_streams.h"
#include "exec/output_share.h"
#include "exec/safe_output.h"

namespace sshx::exec {
namespace {

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

/// What is raised when the caller gave or took something.
Result<std::shared_ptr<ThreadSignal>> signal_of_caller(const RunOptions& options) {
  if (options.events.output != nullptr) return options.events.output->changed();
  return ThreadSignal::make();
}

/// A run in its order: word to the reader, evidence, word, network. The first word comes when a
/// signal would be heard, since who reads it may send one.
Task<Status> run_whole(Runtime runtime, Execution& execution, const RunOptions& options,
                       EventStream& events, std::shared_ptr<ThreadSignal> changed) {
  events.run_started(run_start(execution.run));
  SSHX_CO_CHECK(keep_started(execution.result, options));
  execution.deadlines = deadlines_of(execution.run, options.started);
  events.target_started(execution.result);
  if (options.output == OutputMode::captured)
    co_return co_await carry_out_captured(runtime, execution, std::move(changed), events);
  co_return co_await run_streamed(runtime, execution, options.safe_output, std::move(changed));
}

Status run_on_loop(const RunRequest& run, const RunOptions& options, ExecutionResult& result,
                   EventStream& events) {
  SSHX_TRY(const auto changed, signal_of_caller(options));
  PrivateKeys keys;
  Execution execution{run, run.sessions.front(), {}, keys, result};
  return run_cancellable(
      [&](Runtime runtime) { return run_whole(runtime, execution, options, events, changed); });
}

}  // namespace

std::string_view to_string(Entry entry) noexcept { return entry == Entry::mcp ? "mcp" : "cli"; }

ExecutionResult execute_run(const RunRequest& run, const RunOptions& options) {
  auto result = planned_result(run, run.sessions.front(), new_id());
  EventStream events(options.events, result.identity.run_id, options.started);
  auto status = run_on_loop(run, options, result, events);
  if (!status) result.error = std::move(status).error();
  result.duration_ms = milliseconds_between(result.identity.started_clock, Clock::now());
  finalise(result);
  keep_finished(result, options);
  events.target_finished(result);
  events.run_finished(exit_code(result));
  return result;
}

}  // namespace sshx::exec
