#pragma once

#include "core/json.h"

namespace sshx::exec {

/// Where evidence goes. Records are those of schemas/documents/sshx.audit.record.v1; they are
/// redacted already.
class AuditSink {
 public:
  AuditSink() = default;
  AuditSink(const AuditSink&) = delete;
  AuditSink& operator=(const AuditSink&) = delete;
  virtual ~AuditSink() = default;

  /// Keeps one record, `started` before the first packet or `finished` after the last. Returns:
  /// local_io, busy, config.
  [[nodiscard]] virtual Status append(const Json& record) = 0;
};

}  // namespace sshx::exec
