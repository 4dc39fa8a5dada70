#pragma once

#include <string_view>

#include "audit/audit_log.h"
#include "audit/record.h"
#include "audit/sqlite.h"
#include "core/result.h"

namespace sshx::audit {

// The reading side: started and finished records joined into executions. Each function reads one
// snapshot, so that an execution that ends meanwhile is seen either before or after. Errors are
// those of sqlite.h, besides the named ones.

/// The executions that `filter` selects, newest first.
[[nodiscard]] Result<QueryAnswer> find_executions(Db& db, const StoreIdentity& store,
                                                  const Filter& filter);

/// The one execution whose id begins with `prefix`, with its raw records. Returns: config
/// (`unknown_execution`, `ambiguous`).
[[nodiscard]] Result<Json> find_execution(Db& db, const StoreIdentity& store,
                                          std::string_view prefix);

}  // namespace sshx::audit
