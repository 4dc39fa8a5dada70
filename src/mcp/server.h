#pragma once

#include <string>
#include <vector>

#include "mcp/session.h"

namespace sshx::mcp {

/// What an operator set for a server (`sshx mcp --read-only ...`): the checked request of
/// mcp.serve.
/// Returns: config (`range`) for a tool that there is not; local_io where the binary cannot be
/// found.
[[nodiscard]] Result<ServerSettings> server_settings(const Json& request);

/// Serves MCP on the settings' descriptors until the client goes, SIGINT, SIGTERM or SIGHUP comes,
/// or the client's process ends. Opens no connection and writes no file; every tool call is a child
/// of this process, and none is left behind. Returns: adapter (`stalled`), local_io.
[[nodiscard]] Status serve(const ServerSettings& settings);

/// The instructions that clients show their models: at most 2 KiB, the most important first.
[[nodiscard]] std::string instructions_for(const Json& request);

}  // namespace sshx::mcp
