#include "audit/event.h"

#include <array>
#include <initializer_list>
#include <string_view>

namespace sshx::audit {
namespace {

Json field(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? Json() : *found;
}

/// Copies the named fields of `from`; a missing one becomes null.
void copy(Json& to, const Json& from, std::initializer_list<std::string_view> names) {
  for (const auto name : names) to[std::string(name)] = field(from, name);
}

Json target_of(const Json& record) {
  Json target = Json::object();
  copy(target, field(record, "target"), {"alias", "address", "port", "user"});
  return target;
}

Json outcome_of(const Json& finished) {
  const Json status = field(finished, "status");
  return status.is_string() ? status : Json("unknown");
}

}  // namespace

Json make_event(const ExecutionRecords& records) {
  const Json& started = records.started;
  const Json& finished = records.finished;
  const Json& either = started.is_object() ? started : finished;
  const Json error = field(finished, "error");
  Json event = Json::object();
  copy(event, either, {"execution_id", "run_id", "request_id"});
  copy(event, started, {"parent_execution_id"});
  copy(event, either, {"operation"});
  copy(event, started, {"entry"});
  event["target"] = target_of(either);
  event["outcome"] = outcome_of(finished);
  copy(event, either, {"started_at"});
  copy(event, finished,
       {"finished_at", "duration_ms", "status", "phase", "completion", "executed", "exit_code",
        "signal", "error_kind"});
  event["error_code"] = field(error, "code");
  copy(event, error, {"message"});
  copy(event, field(started, "action"),
       {"command", "payload_sha256", "payload_bytes", "stdin_bytes"});
  copy(event, started, {"plan_hash", "risk"});
  copy(event, finished, {"change_state", "remote_state", "execution_fingerprint"});
  copy(event, started, {"local_user", "sshx_version"});
  event["started_sequence"] = field(started, "sequence");
  event["finished_sequence"] = field(finished, "sequence");
  return event;
}

}  // namespace sshx::audit
