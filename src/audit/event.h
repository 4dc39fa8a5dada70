#pragma once

#include "core/json.h"

namespace sshx::audit {

/// Both records of one execution, parsed; null where there is none.
struct ExecutionRecords {
  Json started;
  Json finished;
};

/// One entry of sshx.audit.query.v1's `events`: what both records say of the execution. Without a
/// finished record its outcome is "unknown" and everything that only the end can tell is null.
[[nodiscard]] Json make_event(const ExecutionRecords& records);

}  // namespace sshx::audit
