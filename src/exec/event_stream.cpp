#include "exec/event_stream.h"

#include <utility>

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

EventStream::EventStream(EventSink* sink, std::string run_id, Deadline started)
    : sink_(sink), run_id_(std::move(run_id)), started_(started) {}

Json EventStream::next_event(std::string_view name) {
  return {{"schema_version", "sshx.event.v1"},
          {"event", name},
          {"seq", ++sequence_},
          {"time", rfc3339(std::chrono::system_clock::now())},
          {"run_id", run_id_}};
}

void EventStream::run_started(const RunStart& start) {
  counts_.selected = start.selected;
  if (sink_ == nullptr) return;
  auto event = next_event("run_started");
  event["operation"] = start.operation;
  event["request_id"] = start.request_id ? Json(*start.request_id) : Json(nullptr);
  event["selected"] = start.selected;
  event["document"] = start.document;
  event["plan_hash"] = start.plan_hash;
  event["warnings"] = start.warnings;
  sink_->write(event);
}

void EventStream::target_started(const ExecutionResult& planned) {
  ++counts_.started;
  if (sink_ == nullptr) return;
  auto event = next_event("target_started");
  event["execution_id"] = planned.identity.execution_id;
  event["target"] = target_json(planned.target);
  sink_->write(event);
}

void EventStream::target_finished(const ExecutionResult& result) {
  counts_.add(result);
  if (sink_ == nullptr) return;
  auto event = next_event("target_finished");
  event["execution_id"] = result.identity.execution_id;
  event["result"] = result_document(result);
  sink_->write(event);
}

void EventStream::run_finished(int exit_code) {
  if (sink_ == nullptr) return;
  auto event = next_event("run_finished");
  event["counts"] = counts_json(counts_);
  event["duration_ms"] = milliseconds_between(started_, Clock::now());
  event["exit_code"] = exit_code;
  sink_->write(event);
}

}  // namespace sshx::exec
