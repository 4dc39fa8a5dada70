#include "cli/run_command.h"

#include <fmt/format.h>

#include "cli/event_lines.h"
#include "cli/evidence_store.h"
#include "cli/many_targets.h"
#include "cli/plan_text.h"
#include "core/utf8.h"
#include "exec/run.h"

namespace sshx::cli {
namespace {

constexpr int kFailure = 255;

Result<int> preview(const Invocation& invocation, Terminal& terminal) {
  const auto run = exec::prepare_run(invocation.request, invocation.presentation.confinement);
  if (!run && !invocation.presentation.for_machines()) return run.error();
  const auto document = run ? exec::preview_document(*run)
                            : exec::invalid_preview_document(invocation.request, run.error());
  if (invocation.presentation.for_machines()) {
    SSHX_CHECK(terminal.out(dump_json(document) + "\n"));
  } else {
    SSHX_CHECK(terminal.out(preview_text(*run)));
  }
  return run ? 0 : kFailure;
}

/// The run with the evidence that is asked for.
exec::ExecutionResult execute(const exec::RunRequest& run, const Presentation& presentation,
                              exec::EventSink events) {
  exec::RunOptions options;
  options.output =
      presentation.for_machines() ? exec::OutputMode::captured : exec::OutputMode::streamed;
  options.events = events;
  options.safe_output = presentation.safe_output;
  EvidenceStore store;
  store.attach(presentation, options);
  return exec::execute_run(run, options);
}

/// In text mode the command has said its part itself; only what it could not say is left.
void report(const exec::ExecutionResult& result, const Terminal& terminal) {
  for (const auto& warning : result.warnings) terminal.note("warning: " + printable(warning));
  const bool plain_exit =
      result.outcome.exit_status && result.error && result.error->kind == ErrorKind::remote_exit;
  if (result.error && !plain_exit) terminal.report(*result.error);
}

Result<int> run_on_one(const exec::RunRequest& run, const Presentation& presentation,
                       const Terminal& terminal) {
  std::optional<EventLines> lines;
  if (presentation.jsonl) {
    SSHX_TRY(lines, EventLines::open());
  }
  const auto result =
      execute(run, presentation, lines ? lines->sink(presentation.stream) : exec::EventSink{});
  if (presentation.json) {
    SSHX_CHECK(Terminal::out(dump_json(exec::result_document(result)) + "\n"));
  }
  report(result, terminal);
  const int code = exec::exit_code(result);
  return lines ? lines->finish(code) : code;
}

Status check_presentation(const Invocation& invocation) {
  const auto& presentation = invocation.presentation;
  if (!presentation.for_machines() || !invocation.request.value("pty", false)) return {};
  if (invocation.request.value("dry_run", false)) return {};
  return config_error(
      "request_conflict",
      fmt::format("--pty and {} do not go together", presentation.json ? "--json" : "--jsonl"),
      "a terminal merges stderr into stdout and is for people: leave one out");
}

}  // namespace

Result<int> run_run_command(const Invocation& invocation, Terminal& terminal) {
  SSHX_CHECK(check_presentation(invocation));
  if (invocation.request.value("dry_run", false)) return preview(invocation, terminal);
  SSHX_TRY(const auto run,
           exec::prepare_run(invocation.request, invocation.presentation.confinement));
  return run.is_single ? run_on_one(run, invocation.presentation, terminal)
                       : run_on_many(run, invocation.presentation, terminal);
}

}  // namespace sshx::cli
