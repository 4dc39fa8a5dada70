#include "cli/run_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "audit/audit_log.h"
#include "cli/plan_text.h"
#include "core/paths.h"
#include "core/utf8.h"
#include "exec/run.h"

namespace sshx::cli {
namespace {

constexpr int kFailure = 255;

/// Hands the operations' records to the evidence store.
class StoreSink final : public exec::AuditSink {
 public:
  explicit StoreSink(audit::AuditLog log) : log_(std::move(log)) {}
  Status append(const Json& record) override { return log_.append(record); }

 private:
  audit::AuditLog log_;
};

/// Prints the events of a run, a line each. The first one that cannot be written is the last: half
/// a line may be out by then.
class EventLines final : public exec::EventSink {
 public:
  void write(const Json& event) override {
    if (failure_) return;
    auto written = Terminal::out(dump_json(event) + "\n");
    if (!written) failure_ = std::move(written).error();
  }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  std::optional<Error> failure_;
};

exec::AuditMode audit_mode(const Presentation& presentation) {
  if (presentation.audit == "off") return exec::AuditMode::off;
  return presentation.audit == "required" ? exec::AuditMode::required
                                          : exec::AuditMode::best_effort;
}

/// sshx mcp says that it called; anything else is the command line.
exec::Entry entry() {
  // Read once at start-up; nothing in this process changes the environment.
  const char* name = std::getenv("SSHX_ENTRY");  // NOLINT(concurrency-mt-unsafe)
  return name != nullptr && std::string_view(name) == "mcp" ? exec::Entry::mcp : exec::Entry::cli;
}

Result<audit::AuditLog> open_store(const Presentation& presentation, exec::AuditMode mode) {
  SSHX_TRY(const auto path, presentation.audit_db.empty() ? audit_database_path()
                                                          : expand_home(presentation.audit_db));
  const auto durability = mode == exec::AuditMode::required ? audit::Durability::required
                                                            : audit::Durability::best_effort;
  return audit::AuditLog::open(path, durability);
}

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
                              exec::EventSink& events) {
  exec::RunOptions options;
  options.output =
      presentation.for_machines() ? exec::OutputMode::captured : exec::OutputMode::streamed;
  if (presentation.jsonl) options.events = &events;
  options.safe_output = presentation.safe_output;
  options.audit = audit_mode(presentation);
  options.entry = entry();
  std::optional<StoreSink> sink;
  if (options.audit != exec::AuditMode::off) {
    auto store = open_store(presentation, options.audit);
    if (store) {
      options.sink = &sink.emplace(std::move(*store));
    } else {
      options.audit_failure = std::move(store).error();
    }
  }
  return exec::execute_run(run, options);
}

/// In text mode the command has said its part itself; only what it could not say is left.
void report(const exec::ExecutionResult& result, const Terminal& terminal) {
  for (const auto& warning : result.warnings) terminal.note("warning: " + printable(warning));
  const bool plain_exit =
      result.outcome.exit_status && result.error && result.error->kind == ErrorKind::remote_exit;
  if (result.error && !plain_exit) terminal.report(*result.error);
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
  EventLines lines;
  const auto result = execute(run, invocation.presentation, lines);
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(exec::result_document(result)) + "\n"));
  }
  report(result, terminal);
  if (!lines.failure()) return exec::exit_code(result);
  // Not a refusal: no document may follow half a line.
  terminal.report(*lines.failure());
  return kFailure;
}

}  // namespace sshx::cli
