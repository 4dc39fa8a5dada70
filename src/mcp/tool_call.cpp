#include "mcp/tool_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "mcp/adapter_document.h"
#include "mcp/tools.h"

namespace sshx::mcp {
namespace {

/// What a child's own children may still write once it has ended.
constexpr double kStreamSeconds = 1;
/// Longest value that the summary of an oversized answer keeps.
constexpr std::size_t kSummaryBytes = 512;

double seconds_of(const Json& arguments, const char* name, double otherwise) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_number() ? found->get<double>() : otherwise;
}

/// The id that events told, else the one in the document.
Json known_id(const Json& told, const Json& document, const char* name) {
  if (!told.is_null() || !document.is_object()) return told;
  const auto found = document.find(name);
  return found != document.end() && found->is_string() ? *found : Json(nullptr);
}

/// The fields of a document that say how it ended, without what may be large.
Json summary_of(const Json& document) {
  Json summary = Json::object();
  for (const auto& [name, value] : document.items()) {
    if (!value.is_structured() && dump_json(value).size() <= kSummaryBytes) summary[name] = value;
  }
  return summary;
}

}  // namespace

ToolCall::ToolCall(asio::io_context& context, const ChildSettings& settings, const Limits& limits,
                   const Operation& operation, Json arguments, Report report)
    : settings_(settings), limits_(limits), operation_(operation), arguments_(std::move(arguments)),
      report_(std::move(report)), context_(context), changed_(context), reader_(form(), limits) {}

AnswerForm ToolCall::form() const {
  return report_ && takes(operation_, "jsonl") ? AnswerForm::events : AnswerForm::document;
}

/// The request goes over stdin, never into arguments that every user of the machine can read.
Program ToolCall::program() const {
  Program program{settings_.program, {"sshx"}, settings_.environment};
  auto& arguments = program.arguments;
  for (auto& word : split(operation_.name, '.')) arguments.push_back(std::move(word));
  arguments.insert(arguments.end(), {"--request=-", "--surface=mcp"});
  arguments.emplace_back(form() == AnswerForm::events ? "--jsonl" : "--json");
  if (takes(operation_, "die_with_parent")) arguments.emplace_back("--die-with-parent");
  for (const auto& [option, argument] : settings_.options) {
    if (takes(operation_, option)) arguments.push_back(argument);
  }
  return program;
}

double ToolCall::watchdog_seconds() const {
  // What is no time is for the child to refuse, which has its reasons and words.
  const double global = seconds_of(arguments_, "global_timeout_seconds", HUGE_VAL);
  return std::min(limits_.watchdog_seconds, std::max(global, 0.0) + limits_.report_seconds);
}

void ToolCall::receive(ChildStream stream, std::string_view bytes) {
  if (stream == ChildStream::standard_output) return reader_.receive(bytes);
  // The end of it is what is told.
  stderr_ += bytes;
  if (stderr_.size() > limits_.child_stderr_bytes) {
    stderr_.erase(0, stderr_.size() - limits_.child_stderr_bytes);
  }
}

void ToolCall::stop(Stop reason) {
  // A client that cancels wants no answer, whatever else has happened.
  if (stop_ == Stop::none || reason == Stop::cancelled) stop_ = reason;
  if (kill_at_ != kNoDeadline) return;
  kill_at_ = after(limits_.grace_seconds);
  if (child_) child_->terminate();
  changed_.notify();
}

ToolAnswer ToolCall::refused() const {
  auto error = adapter_error(
      "busy", fmt::format("{} calls are under way, the most that run at once", limits_.calls));
  error.hint = "nothing was started; send it again when some of them have ended";
  return adapter_answer(error, nullptr);
}

ToolAnswer ToolCall::oversized(const ToolAnswer& answered, std::size_t limit) const {
  auto error = adapter_error(
      "too_large", fmt::format("the answer has more bytes than clients take ({})", limit));
  error.hint = answered.is_error
                   ? "ask for less: a smaller limit or max_output_bytes"
                   : "it succeeded and need not be sent again; ask for less the next time: a "
                     "smaller limit or max_output_bytes";
  return adapter_answer(error, summary_of(answered.document));
}

void ToolCall::cancel() { stop(Stop::cancelled); }

void ToolCall::shut_down() { stop(Stop::shutdown); }

void ToolCall::kill() {
  stop(Stop::shutdown);
  kill_at_ = Clock::now();
  changed_.notify();
}

Task<std::optional<ToolAnswer>> ToolCall::run() {
  // What was stopped before its turn came must not begin.
  if (stop_ == Stop::cancelled) co_return std::nullopt;
  if (stop_ != Stop::none) {
    co_return adapter_answer(
        adapter_error("shutdown", "the server ended before the call was started"), nullptr);
  }
  auto child = ChildProcess::start(
      context_, program(), dump_json(arguments_), changed_,
      [this](ChildStream stream, std::string_view bytes) { receive(stream, bytes); });
  if (!child) {
    co_return adapter_answer(adapter_error("spawn", std::move(child).error().message), nullptr);
  }
  child_ = std::move(*child);
  watchdog_at_ = after(watchdog_seconds());
  if (report_) heartbeat_at_ = after(limits_.heartbeat_seconds);
  while (!is_over()) {
    act();
    co_await changed_.wait_until(next_deadline());
  }
  if (stop_ == Stop::cancelled) co_return std::nullopt;
  auto answered = answer();
  co_await settle();
  if (stop_ == Stop::cancelled) co_return std::nullopt;
  co_return answered;
}

bool ToolCall::is_over() {
  if (!child_->look()) return false;
  if (child_->streams_ended()) return true;
  if (streams_end_at_ == kNoDeadline) streams_end_at_ = after(kStreamSeconds);
  return passed(streams_end_at_);
}

void ToolCall::act() {
  if (reader_.fault() && stop_ == Stop::none) stop(Stop::fault);
  if (passed(watchdog_at_) && stop_ == Stop::none) stop(Stop::watchdog);
  if (passed(kill_at_)) {
    child_->kill_group();
    kill_at_ = after(limits_.grace_seconds);
  }
  if (report_ && stop_ == Stop::none) report_progress();
}

/// A beat now and then, and each target that is done but the last: its news is the response.
void ToolCall::report_progress() {
  const auto done = reader_.targets_finished();
  const auto selected = reader_.selected();
  const bool has_news = done > reported_targets_ && done < selected;
  if (!has_news && !passed(heartbeat_at_)) return;
  beats_ = has_news ? 0 : beats_ + 1;
  reported_targets_ = done;
  heartbeat_at_ = after(limits_.heartbeat_seconds);
  reported_at_ = Clock::now();
  Progress progress;
  // Must always grow: beats fill the room between two targets without reaching the next.
  // Only a call without events has nothing but beats to count.
  const auto beats = static_cast<double>(beats_);
  progress.value =
      form() == AnswerForm::document ? beats : static_cast<double>(done) + beats / (beats + 1);
  if (selected > 0) progress.total = static_cast<double>(selected);
  const auto seconds = milliseconds_between(started_, Clock::now()) / 1000;
  progress.message = selected == 0 ? fmt::format("running for {} s", seconds)
                                   : fmt::format("running for {} s, {} of {} targets finished",
                                                 seconds, done, selected);
  report_(progress);
}

Deadline ToolCall::next_deadline() const {
  auto deadline = std::min(kill_at_, streams_end_at_);
  if (stop_ == Stop::none) deadline = std::min({deadline, watchdog_at_, heartbeat_at_});
  return deadline;
}

/// Clients handle a response before a note that came just ahead of it, and then know no such token.
Task<void> ToolCall::settle() {
  const auto quiet_at =
      reported_at_ == Deadline::min()
          ? Clock::now()
          : reported_at_ + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(limits_.settle_seconds));
  while (stop_ != Stop::cancelled && !passed(quiet_at)) co_await changed_.wait_until(quiet_at);
}

ToolAnswer ToolCall::answer() {
  auto document = reader_.document();
  const auto& end = child_->look();
  if (stop_ == Stop::watchdog) {
    return adapter_answer(
        adapter_error("watchdog", fmt::format("the call was ended after {:g} seconds, the most "
                                              "that the adapter waits",
                                              watchdog_seconds())),
        document ? *document : Json(nullptr));
  }
  if (!document) return adapter_answer(document.error(), nullptr);
  return {*std::move(document), !end->is_success()};
}

ToolAnswer ToolCall::adapter_answer(const Error& error, Json execution) const {
  AdapterFacts facts;
  facts.operation = operation_.name;
  facts.run_id = known_id(reader_.run_id(), execution, "run_id");
  facts.execution_id = known_id(reader_.execution_id(), execution, "execution_id");
  facts.execution = std::move(execution);
  if (child_) facts.end = child_->look();
  facts.stderr_text = stderr_;
  return {adapter_document(error, facts), true};
}

}  // namespace sshx::mcp
