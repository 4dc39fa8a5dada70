#include "exec/audit_record.h"

#include <unistd.h>

#include "core/build_info.h"
#include "core/paths.h"
#include "core/redact.h"

namespace sshx::exec {
namespace {

Json common(std::string_view event, const ExecutionResult& result) {
  Json record = Json::object();
  record["event"] = event;
  record["execution_id"] = result.identity.execution_id;
  record["run_id"] = result.identity.run_id;
  record["request_id"] =
      result.identity.request_id ? Json(*result.identity.request_id) : Json(nullptr);
  record["parent_execution_id"] = nullptr;
  record["operation"] = result.operation;
  record["target"] = target_json(result.target);
  return record;
}

Json redacted_error(const Json& error) {
  if (error.is_null()) return nullptr;
  return {{"kind", error["kind"]},
          {"code", error["code"]},
          {"message", redact(error["message"].get<std::string>())}};
}

Json redacted_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const auto& text : texts) list.push_back(redact(text));
  return list;
}

}  // namespace

Json started_record(const ExecutionResult& planned, std::string_view entry) {
  auto record = common("started", planned);
  record["entry"] = entry;
  record["action"] = action_json(planned.action);
  record["plan_hash"] = planned.plan_hash;
  record["risk"] = to_string(planned.risk);
  record["effects"] = planned.effects;
  record["bypass"] = bypass_json(planned.action.bypass);
  record["local_user"] = local_user_name();
  record["sshx_version"] = build_info::kVersion;
  record["pid"] = ::getpid();
  record["started_at"] = rfc3339(planned.identity.started_at);
  return record;
}

Json finished_record(const ExecutionResult& result) {
  const auto document = result_document(result);
  auto record = common("finished", result);
  for (const auto* name :
       {"status", "phase", "completion", "executed", "change_state", "remote_state", "exit_code",
        "signal", "error_kind", "started_at", "duration_ms", "auth_method", "peers", "stdout_bytes",
        "stderr_bytes", "execution_fingerprint"}) {
    record[name] = document[name];
  }
  record["error"] = redacted_error(document["error"]);
  record["finished_at"] =
      rfc3339(result.identity.started_at + std::chrono::milliseconds(result.duration_ms));
  record["warnings"] = redacted_list(result.warnings);
  return record;
}

}  // namespace sshx::exec
