#include "mcp/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "mcp/adapter_document.h"

namespace sshx::mcp {
namespace {

constexpr std::string_view kEventVersion = "sshx.event.v1";
constexpr std::string_view kRunVersion = "sshx.run.v1";

bool is_document(const Json& value) {
  return value.is_object() && value.contains("schema_version") &&
         value["schema_version"].is_string();
}

void copy(const Json& from, Json& to, std::initializer_list<const char*> names) {
  for (const auto* name : names) to[name] = from.value(name, Json());
}

void keep_text(const Json& event, const char* name, Json& kept) {
  const auto found = event.find(name);
  if (found != event.end() && found->is_string()) kept = *found;
}

}  // namespace

void AnswerReader::fail(std::string code, std::string message) {
  fault_ = adapter_error(std::move(code), std::move(message));
  text_ = {};
}

void AnswerReader::receive(std::string_view bytes) {
  if (fault_) return;
  received_ += bytes.size();
  if (received_ > limits_.child_stdout_bytes) {
    return fail("stdout_limit", fmt::format("the operation answered with more than {} bytes",
                                            limits_.child_stdout_bytes));
  }
  text_ += bytes;
  if (form_ == AnswerForm::events) take_lines();
}

void AnswerReader::take_lines() {
  std::size_t begin = 0;
  for (auto end = text_.find('\n'); end != std::string::npos && !fault_;
       end = text_.find('\n', begin)) {
    take_line(std::string_view(text_).substr(begin, end - begin));
    begin = end + 1;
  }
  if (fault_) return;
  text_.erase(0, begin);
  if (text_.size() > limits_.event_bytes) {
    fail("event_limit", fmt::format("one event has more than {} bytes", limits_.event_bytes));
  }
}

void AnswerReader::take_line(std::string_view line) {
  if (line.size() > limits_.event_bytes) {
    return fail("event_limit",
                fmt::format("one event has more than {} bytes", limits_.event_bytes));
  }
  auto value = parse_json(line, "an event");
  if (!value || !is_document(*value)) {
    return fail("malformed", fmt::format("line {} of the answer is no event", events_ + 1));
  }
  if ((*value)["schema_version"] == kEventVersion) return take_event(std::move(*value));
  // A request that was refused, or a preview: one document, and nothing else.
  if (events_ > 0 || !document_.is_null()) {
    return fail("malformed", "a document stands beside the events");
  }
  document_ = std::move(*value);
}

void AnswerReader::take_event(Json event) {
  if (events_ == 0 && !document_.is_null()) {
    return fail("malformed", "events stand beside a document");
  }
  ++events_;
  if (events_ > limits_.events) {
    return fail("too_many_events", fmt::format("more than {} events came", limits_.events));
  }
  const auto name = event.value("event", Json());
  if (event.value("seq", Json()) != events_ || run_finished_) {
    return fail("malformed", fmt::format("event {} is out of order", events_));
  }
  keep_text(event, "run_id", run_id_);
  keep_text(event, "execution_id", execution_id_);
  if (name == "run_started") begin_run(event);
  if (name == "target_finished") end_target(event.value("result", Json()));
  run_finished_ = name == "run_finished";
  if (run_finished_ && run_.is_object()) end_run(event);
}

/// A run on several targets is answered as --json answers it, put together from its events.
void AnswerReader::begin_run(const Json& event) {
  const auto selected = event.value("selected", Json());
  if (selected.is_number_unsigned()) selected_ = selected.get<std::size_t>();
  if (event.value("document", Json()) != kRunVersion) return;
  run_ = {{"schema_version", kRunVersion}};
  copy(event, run_, {"run_id", "request_id", "operation"});
  for (const auto* name : {"success", "exit_code", "counts"}) run_[name] = nullptr;
  copy(event, run_, {"plan_hash"});
  run_["started_at"] = event.value("time", Json());
  run_["duration_ms"] = nullptr;
  copy(event, run_, {"warnings"});
  run_["results"] = Json::array();
}

void AnswerReader::end_target(Json result) {
  ++finished_;
  if (run_.is_object()) {
    run_["results"].push_back(std::move(result));
  } else {
    document_ = std::move(result);
  }
}

void AnswerReader::end_run(const Json& event) {
  copy(event, run_, {"exit_code", "counts", "duration_ms"});
  run_["success"] = run_["exit_code"] == 0;
  // Events come as targets end; the document has them by name.
  auto& results = run_["results"].get_ref<Json::array_t&>();
  std::ranges::stable_sort(results, {}, [](const Json& result) {
    const auto target = result.value("target", Json::object());
    return target.is_object() ? target.value("alias", Json()).dump() : std::string();
  });
  if (finished_ == selected_) document_ = std::move(run_);
}

Result<Json> AnswerReader::document() {
  if (fault_) return *fault_;
  if (received_ == 0) return adapter_error("no_document", "the operation ended without an answer");
  if (form_ == AnswerForm::document) {
    if (!text_.ends_with('\n')) {
      return adapter_error("truncated", "the operation's answer breaks off");
    }
    auto value = parse_json(text_, "the answer");
    if (!value || !is_document(*value)) {
      return adapter_error("malformed", "the operation's answer is no document");
    }
    return value;
  }
  const bool is_whole = text_.empty() && (events_ == 0 || run_finished_);
  if (!is_whole) return adapter_error("truncated", "the stream of events breaks off");
  if (!is_document(document_) || (finished_ > 1 && document_["schema_version"] != kRunVersion)) {
    return adapter_error("malformed", "the events do not hold the result of each target");
  }
  return document_;
}

}  // namespace sshx::mcp
