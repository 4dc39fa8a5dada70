#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "audit/audit_log.h"
#include "audit/group_commit.h"
#include "core/deadline.h"
#include "exec/audit_queue.h"

namespace sshx::cli {

/// Hands the records of many executions to the evidence store, which a thread writes.
class StoreQueue final : public exec::AuditQueue {
 public:
  explicit StoreQueue(audit::AuditLog log) : log_(std::move(log)) {}

  /// Returns: local_io (`audit_open`).
  Status start(std::function<void()> notify) override;
  Ticket append(Json record) override { return writer_->append(std::move(record)); }
  std::vector<Outcome> take_outcomes() override;

  /// After the last record: waits until all is written and the store closed, or `deadline` passes.
  /// Returns: local_io (`audit_write`).
  [[nodiscard]] Status finish(Deadline deadline);

 private:
  /// Until the writer owns it.
  std::optional<audit::AuditLog> log_;
  std::unique_ptr<audit::GroupCommit> writer_;
};

}  // namespace sshx::cli
