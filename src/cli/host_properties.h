#pragma once

#include "core/json.h"
#include "core/result.h"
#include "inventory/host.h"

namespace sshx::cli {

/// The host that a checked `host add` request describes. `user` and `port` of their own win over
/// those within `address`. A relative identity becomes absolute, so that it means the same file
/// wherever sshx is called from. Returns: config (what check_host returns; `request_conflict` for a
/// tag given twice).
[[nodiscard]] Result<inventory::Host> new_host(const Json& request);

/// `host` with what a checked `host update` request changes: what is given replaces, what `unset`
/// names is cleared, the rest stays. Returns: config (what check_host returns; `request_conflict`
/// when a property is given and unset).
[[nodiscard]] Result<inventory::Host> updated_host(inventory::Host host, const Json& request);

}  // namespace sshx::cli
