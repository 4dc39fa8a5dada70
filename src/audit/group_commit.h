#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "audit/audit_log.h"
#include "core/deadline.h"
#include "core/json.h"
#include "core/result.h"

namespace sshx::audit {

/// Appends to the evidence store from a thread of its own, so that a caller with many executions at
/// once never waits for the store. Whatever is queued when the thread looks becomes one transaction
/// (group commit): in the order of the queue, chained and numbered as if appended one by one. A
/// process that is killed leaves some of the first transactions, whole. The thread is left behind
/// when it is stuck, never joined. append and take_outcomes may be called from any thread.
class GroupCommit {
 public:
  /// A record's place in the queue, from 1.
  using Ticket = std::uint64_t;

  /// What became of a record: stored, as the durability of the AuditLog tells, or not at all.
  struct Outcome {
    Ticket ticket = 0;
    Status status;
  };

  /// Starts the thread, which owns `log` from now on. It calls `notify` each time that outcomes
  /// came, once a transaction; `notify` must not throw, and may be called until the thread has
  /// ended, so it owns what it needs. Returns: local_io (`audit_open`: the system gives no thread).
  [[nodiscard]] static Result<std::unique_ptr<GroupCommit>> start(AuditLog log,
                                                                  std::function<void()> notify);

  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;
  /// Does not wait: what is queued is written if the process lives long enough. finish() first.
  ~GroupCommit();

  /// Queues one record as AuditLog::append takes it. Never waits for the store. A record that names
  /// no event or no execution is refused alone, by its outcome, with `notify` called from here; so
  /// is one that comes after finish().
  Ticket append(Json record);

  /// The outcomes that came since the last call, each once. Their errors are those of
  /// AuditLog::append: a transaction that fails gives each of its records the same, and the next
  /// one is tried nevertheless, since a lock may be free and a disk have space again. Never waits.
  [[nodiscard]] std::vector<Outcome> take_outcomes();

  /// Writes what is queued, closes the store and ends the thread. Waits until that is done, or
  /// `deadline` passes; the locks of others hold it up as long as the AuditLog waits for them.
  /// Returns: local_io (`audit_write`: it was not done in time, and the thread is left behind).
  [[nodiscard]] Status finish(Deadline deadline);

 private:
  struct Shared;
  explicit GroupCommit(std::shared_ptr<Shared> shared) noexcept;
  std::shared_ptr<Shared> shared_;
};

}  // namespace sshx::audit
