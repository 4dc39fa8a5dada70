#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace sshx::exec {

/// Where evidence of many executions at once goes: records are taken without waiting, and what
/// became of them is told later. AsyncAuditSink waits for it on the loop. The records are those of
/// AuditSink.
class AuditQueue {
 public:
  /// A record's place in the queue.
  using Ticket = std::uint64_t;

  struct Outcome {
    Ticket ticket = 0;
    /// Whether the record was kept; its errors are those of AuditSink::append.
    Status status;
  };

  AuditQueue() = default;
  AuditQueue(const AuditQueue&) = delete;
  AuditQueue& operator=(const AuditQueue&) = delete;
  virtual ~AuditQueue() = default;

  /// To be called once, before all else. `notify` will be called from any thread each time that
  /// outcomes came, and must not throw. Returns: local_io.
  [[nodiscard]] virtual Status start(std::function<void()> notify) = 0;
  /// Takes one record, to be kept after those that were taken before. Never waits.
  virtual Ticket append(Json record) = 0;
  /// The outcomes since the last call, each once. Never waits.
  [[nodiscard]] virtual std::vector<Outcome> take_outcomes() = 0;
};

}  // namespace sshx::exec
