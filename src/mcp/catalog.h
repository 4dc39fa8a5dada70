#pragma once

#include <string>
#include <variant>

#include "core/json.h"
#include "mcp/message.h"
#include "mcp/revision.h"

namespace sshx::mcp {

// What a server says of itself and of what it has, in the words of each revision.

/// A result as `revision` wants it: stateless ones say their type and who answers.
[[nodiscard]] Json finished(const Revision& revision, Json result);
/// The same for an answer that a client may keep for a while (`ttlMs`, `cacheScope`).
[[nodiscard]] Json cacheable(const Revision& revision, Json result);

/// The answer to `initialize`, having agreed on `version`.
[[nodiscard]] Json initialize_result(const std::string& version, const std::string& instructions);
/// The answer to `server/discover`.
[[nodiscard]] Json discover_result(const std::string& instructions);

/// The `resources` array: the full schemas of the documents that tools answer with.
[[nodiscard]] Json resource_list();
/// The contents of the resource that `params` names by its uri.
[[nodiscard]] std::variant<Json, Fault> read_resource(const Json& params, const Revision& revision);

}  // namespace sshx::mcp
