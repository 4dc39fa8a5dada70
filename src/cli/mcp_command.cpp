#include "cli/mcp_command.h"

#include <unistd.h>

#include "mcp/client_entry.h"
#include "mcp/server.h"

namespace sshx::cli {
namespace {

/// People who type `sshx mcp` would wait for ever.
constexpr std::string_view kForClients =
    "this speaks MCP on stdin and stdout, for a client that starts it; see sshx mcp config --help. "
    "Ctrl-D ends it";

Result<int> serve(const Json& request, const Terminal& terminal) {
  SSHX_CHECK(claim_standard_output());
  SSHX_TRY(auto settings, mcp::server_settings(request));
  if (::isatty(STDIN_FILENO) == 1) terminal.note(kForClients);
  settings.output_descriptor = Terminal::output_descriptor();
  SSHX_CHECK(mcp::serve(settings));
  return 0;
}

Result<int> config(const Json& request, Terminal& terminal) {
  SSHX_TRY(const auto entry, mcp::client_entry(request));
  for (const auto& note : entry.notes) terminal.note(note);
  SSHX_CHECK(terminal.out(entry.text));
  return 0;
}

}  // namespace

Result<int> run_mcp_command(const Invocation& invocation, Terminal& terminal) {
  if (invocation.operation->name == "mcp.config") return config(invocation.request, terminal);
  return serve(invocation.request, terminal);
}

}  // namespace sshx::cli
