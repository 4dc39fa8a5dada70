#pragma once

#include "audit/audit_log.h"
#include "core/json.h"

namespace sshx::audit {

/// The document sshx.audit.query.v1 that answers `audit query` and `audit show`. Does no I/O.
[[nodiscard]] Json query_document(const QueryAnswer& answer);

}  // namespace sshx::audit
