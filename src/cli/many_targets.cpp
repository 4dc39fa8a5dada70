#include "cli/many_targets.h"

#include <fmt/format.h>

#include "cli/event_lines.h"
#include "cli/evidence_store.h"
#include "cli/status_line.h"
#include "core/sha256.h"
#include "core/utf8.h"
#include "exec/fan_out.h"
#include "exec/gather.h"

namespace sshx::cli {
namespace {

std::string counts_text(const exec::TargetCounts& counts) {
  auto text = fmt::format("{} of {} succeeded", counts.succeeded, counts.selected);
  if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
  if (counts.uncertain > 0) text += fmt::format(", {} uncertain", counts.uncertain);
  if (counts.skipped > 0) text += fmt::format(", {} not started", counts.skipped);
  return text;
}

std::string outcome_text(const exec::ExecutionResult& result) {
  const auto& outcome = result.outcome;
  if (outcome.exit_signal) return "signal " + printable(*outcome.exit_signal);
  if (outcome.exit_status) return fmt::format("exit {}", *outcome.exit_status);
  if (!result.error) return "no exit status";
  return fmt::format("{}/{}", to_string(result.error->kind), result.error->code);
}

/// What people hear on stderr while a run goes on: who failed and why, and on a terminal how far it
/// is.
class People final : public exec::FanOutReceiver {
 public:
  People(Notes notes, std::size_t total) : notes_(notes), status_(total, status_columns(notes)) {}

  void tick() override {
    // A reader that has stopped would get all of them once it goes on.
    if (output_ == nullptr || output_->waiting() == 0) write(status_.tick(Clock::now()));
  }

  void target_started(const exec::ExecutionResult& planned) override {
    status_.started(planned.target.name(), Clock::now());
  }

  void target_finished(const exec::ExecutionResult& result) override {
    const auto& name = result.target.name();
    for (const auto& warning : result.warnings) note(fmt::format("{}: warning: {}", name, warning));
    if (result.error) tell(name, *result.error);
    write(status_.finished(name, result.success(), Clock::now()));
  }

  void cancelled() override {
    // Past what waits for a reader: who has pressed Ctrl-C has to hear it now.
    Terminal::draw(status_.clear());
    const auto running = running_list(status_.running(Clock::now()));
    if (!running.empty()) Terminal::warn(running);
  }

  void output_through(InheritedOutput* output) override {
    write(status_.clear());
    output_ = output;
  }

  void before_lines() override { write(status_.clear()); }

  void end() { write(status_.clear()); }

 private:
  void tell(const std::string& name, const Error& error) {
    warn(fmt::format("{}: {}", name, error.message));
    if (!error.hint.empty()) note(fmt::format("{}: hint: {}", name, error.hint));
  }

  void note(std::string_view message) {
    if (notes_ == Notes::shown) warn(message);
  }

  void warn(std::string_view message) {
    write(status_.clear());
    write(Terminal::line(message));
  }

  void write(std::string text) {
    if (text.empty()) return;
    if (output_ == nullptr) {
      Terminal::draw(text);
    } else {
      output_->write(1, std::move(text));
    }
  }

  Notes notes_;
  StatusLine status_;
  InheritedOutput* output_ = nullptr;  ///< Where targets' lines go to as well, if any.
};

/// What a command printed, as far as it was kept.
std::string bytes_of(const exec::ExecutionResult::Output& output) {
  if (output.text.encoding != "base64") return output.text.text;
  return from_base64(output.text.text).value();
}

/// What the targets printed, once for all that printed the same.
std::string gathered_text(const exec::RunReport& report, exec::ControlBytes control_bytes) {
  std::vector<exec::TargetOutput> outputs;
  for (const auto& result : report.results) {
    outputs.push_back({result.target.name(), bytes_of(result.standard_output),
                       bytes_of(result.standard_error), outcome_text(result)});
  }
  std::string text;
  for (const auto& group : exec::gather(outputs)) text += exec::group_text(group, control_bytes);
  return text;
}

Status answer(const exec::RunRequest& run, const exec::RunReport& report,
              const Presentation& presentation, const Terminal& terminal) {
  if (presentation.json) return Terminal::out(exec::run_document(run, report) + "\n");
  if (presentation.jsonl) return {};
  if (presentation.gather) {
    SSHX_CHECK(
        Terminal::out(gathered_text(report, presentation.safe_output ? exec::ControlBytes::visible
                                                                     : exec::ControlBytes::kept)));
  }
  terminal.note(counts_text(report.counts));
  return {};
}

}  // namespace

Result<int> run_on_many(const exec::RunRequest& run, const Presentation& presentation,
                        Terminal& terminal) {
  exec::RunOptions options;
  options.output = presentation.for_machines() || presentation.gather ? exec::OutputMode::captured
                                                                      : exec::OutputMode::streamed;
  options.safe_output = presentation.safe_output;
  std::optional<EventLines> lines;
  if (presentation.jsonl) {
    SSHX_TRY(lines, EventLines::open());
    options.events = lines->sink(presentation.stream);
  }
  EvidenceStore store;
  store.attach_queue(presentation, options);
  People people(terminal.notes(), run.sessions.size());
  const auto report = exec::execute_fan_out(run, options, people);
  people.end();
  if (const auto kept = store.finish(); !kept) terminal.note("warning: " + kept.error().message);
  SSHX_CHECK(answer(run, report, presentation, terminal));
  const int code = exec::exit_code(report);
  return lines ? lines->finish(code) : code;
}

}  // namespace sshx::cli
