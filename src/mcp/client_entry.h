#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace sshx::mcp {

/// What goes into a client's configuration so that it starts `sshx mcp`.
struct ClientEntry {
  std::string text;                ///< The whole file's content, where it holds nothing else.
  std::vector<std::string> notes;  ///< Where it goes, and what to know.
};

/// The entry for `client` (claude, vscode, cursor or codex) of the checked request of mcp.config;
/// what else is in the request becomes the server's options. Names this binary by its path, and
/// passes on SSHX_HOME and SSH_AUTH_SOCK where they are set, since clients start servers in a bare
/// environment. Returns: local_io where the binary cannot be found.
[[nodiscard]] Result<ClientEntry> client_entry(const Json& request);

}  // namespace sshx::mcp
