#include "exec/evidence.h"

#include "exec/audit_record.h"

namespace sshx::exec {
namespace {

Status append(const Json& record, const RunOptions& options) {
  if (options.sink == nullptr) return options.audit_failure.value();
  return options.sink->append(record);
}

}  // namespace

Json start_of(const ExecutionResult& planned, const RunOptions& options) {
  return started_record(planned, to_string(options.entry));
}

Status note_started(ExecutionResult& planned, const RunOptions& options, Status kept) {
  planned.audit_status = options.audit == AuditMode::off ? AuditStatus::disabled
                         : kept                          ? AuditStatus::written
                                                         : AuditStatus::failed;
  if (options.audit == AuditMode::off || kept) return {};
  auto failure = std::move(kept).error();
  if (options.audit == AuditMode::required) {
    failure.at = Phase::admission;
    return failure;
  }
  planned.warnings.push_back("no evidence is kept: " + failure.message);
  return {};
}

void note_finished(ExecutionResult& result, const Status& kept) {
  if (kept) return;
  result.audit_status = AuditStatus::failed;
  result.warnings.push_back("the end of this execution is not in the evidence: " +
                            kept.error().message);
}

Status keep_started(ExecutionResult& planned, const RunOptions& options) {
  Status kept;
  if (options.audit != AuditMode::off) kept = append(start_of(planned, options), options);
  return note_started(planned, options, std::move(kept));
}

void keep_finished(ExecutionResult& result, const RunOptions& options) {
  if (result.audit_status != AuditStatus::written) return;
  note_finished(result, append(finished_record(result), options));
}

}  // namespace sshx::exec
