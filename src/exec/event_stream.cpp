#include "exec/event_stream.h"

#include <utility>

#include "core/sha256.h"
#include "core/utf8.h"
#include "core/wall_time.h"

namespace sshx::exec {
Json counts_json(const TargetCounts& counts) {
  return {{"selected", counts.selected},   {"started", counts.started},
          {"succeeded", counts.succeeded}, {"failed", counts.failed},
          {"skipped", counts.skipped},     {"uncertain", counts.uncertain}};
}

void TargetCounts::add(const ExecutionResult& result) {
  if (result.skipped) {
    ++skipped;
  } else if (!result.executed.has_value() || result.completion == Completion::unknown) {
    ++uncertain;
  } else if (result.success()) {
    ++succeeded;
  } else {
    ++failed;
  }
}

EventStream::EventStream(EventSink lines, std::string run_id, Deadline started)
    : lines_(lines), run_id_(std::move(run_id)), started_(started) {}

Json EventStream::next_event(std::string_view name) {
  return {{"schema_version", "sshx.event.v1"},
          {"event", name},
          {"seq", ++sequence_},
          {"time", rfc3339(std::chrono::system_clock::now())},
          {"run_id", run_id_}};
}

void EventStream::write(const Json& event, InheritedOutput::Writer writer) {
  lines_.output->write(0, dump_json(event) + "\n", writer);
}

void EventStream::run_started(const RunStart& start) {
  counts_.selected = start.selected;
  if (lines_.output == nullptr) return;
  auto event = next_event("run_started");
  event["operation"] = start.operation;
  event["request_id"] = start.request_id ? Json(*start.request_id) : Json(nullptr);
  event["selected"] = start.selected;
  event["document"] = start.document;
  event["plan_hash"] = start.plan_hash;
  event["warnings"] = start.warnings;
  write(event);
}

void EventStream::target_started(const ExecutionResult& planned) {
  ++counts_.started;
  if (lines_.output == nullptr) return;
  auto event = next_event("target_started");
  event["execution_id"] = planned.identity.execution_id;
  event["target"] = target_json(planned.target);
  write(event);
}

void EventStream::target_output(const ExecutionResult& target, const OutputPiece& piece,
                                InheritedOutput::Writer writer) {
  const bool is_text = is_utf8(piece.bytes);
  auto event = next_event("target_output");
  event["execution_id"] = target.identity.execution_id;
  event["name"] = target.target.name();
  event["stream"] = piece.stream == ssh::OutputStream::standard_output ? "stdout" : "stderr";
  event["offset"] = piece.offset;
  event["encoding"] = is_text ? "utf-8" : "base64";
  event["data"] = is_text ? std::string(piece.bytes) : to_base64(piece.bytes);
  write(event, writer);
}

void EventStream::target_finished(const ExecutionResult& result) {
  counts_.add(result);
  if (lines_.output == nullptr) return;
  auto event = next_event("target_finished");
  event["execution_id"] = result.identity.execution_id;
  event["result"] = result_document(result);
  write(event);
}

void EventStream::run_finished(int exit_code) {
  if (lines_.output == nullptr) return;
  auto event = next_event("run_finished");
  event["counts"] = counts_json(counts_);
  event["duration_ms"] = milliseconds_between(started_, Clock::now());
  event["exit_code"] = exit_code;
  write(event);
}

Task<void> EventStream::taken(Runtime runtime, Deadline deadline,
                              std::shared_ptr<ThreadSignal> changed) {
  if (lines_.output == nullptr) co_return;
  co_await lines_.output->drain(runtime, deadline, InheritedOutput::Writer::first,
                                std::move(changed));
}

}  // namespace sshx::exec
