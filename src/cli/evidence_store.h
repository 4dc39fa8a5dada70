#pragma once

#include <optional>

#include "audit/audit_log.h"
#include "cli/options.h"
#include "cli/store_queue.h"
#include "exec/run.h"

namespace sshx::cli {

/// The evidence store as the options of a call want it.
class EvidenceStore {
 public:
  /// Opens the store, unless evidence is off, and sets the parts of `options` that tell of
  /// evidence. A store that cannot be opened is no fault here: what follows from it is the run's to
  /// say. This must outlive the run. Waits for other processes, two seconds at most.
  void attach(const Presentation& presentation, exec::RunOptions& options);
  /// The same for a run on several targets, whose records a thread writes.
  void attach_queue(const Presentation& presentation, exec::RunOptions& options);
  /// After such a run: waits until its last records are on disk, a few seconds at most.
  /// Returns: local_io (`audit_write`).
  [[nodiscard]] Status finish();

 private:
  /// Hands the operations' records to the store.
  class Sink final : public exec::AuditSink {
   public:
    explicit Sink(audit::AuditLog log) : log_(std::move(log)) {}
    Status append(const Json& record) override { return log_.append(record); }

   private:
    audit::AuditLog log_;
  };

  std::optional<Sink> sink_;
  std::optional<StoreQueue> queue_;
};

}  // namespace sshx::cli
