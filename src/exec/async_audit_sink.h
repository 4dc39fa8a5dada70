#pragma once

#include <memory>

#include "exec/audit_queue.h"
#include "loop/loop.h"

namespace sshx::exec {

/// Keeps the records of many executions that run on one loop: each coroutine waits for its own
/// record, and the loop for none. Belongs to the loop's thread; outlives the
/// coroutines that append, and not the loop.
class AsyncAuditSink {
 public:
  /// Starts `queue`, which must outlive the sink. Returns: local_io (`io`: no descriptor is left),
  /// and what AuditQueue::start returns.
  [[nodiscard]] static Result<std::unique_ptr<AsyncAuditSink>> start(asio::io_context& context,
                                                                     AuditQueue& queue);

  AsyncAuditSink(const AsyncAuditSink&) = delete;
  AsyncAuditSink& operator=(const AsyncAuditSink&) = delete;
  ~AsyncAuditSink();

  /// Queues one record and waits until it was kept, `deadline` passes, or `cancellation`, where
  /// there is one, is requested. The last two end the wait, not the keeping: the record may be in
  /// the evidence later, before any that is appended after it. Returns: what the queue says of the
  /// record, local_io (`audit_write`: the deadline passed), cancelled.
  [[nodiscard]] Task<Status> append(Json record, Deadline deadline,
                                    Cancellation* cancellation = nullptr);

 private:
  struct Wait;
  struct Shared;
  explicit AsyncAuditSink(std::shared_ptr<Shared> shared) noexcept;
  static Task<void> deliver_all(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace sshx::exec
