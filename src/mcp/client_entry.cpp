#include "mcp/client_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/descriptor.h"
#include "core/paths.h"

namespace sshx::mcp {
namespace {

constexpr std::string_view kServe = "mcp.serve";
/// What ssh and sshx need of a person's environment and clients do not pass.
constexpr std::array<const char*, 2> kVariables{"SSHX_HOME", "SSH_AUTH_SOCK"};

/// The server's options as arguments, from the request that they were parsed into.
std::vector<std::string> server_arguments(const Json& request) {
  std::vector<std::string> arguments{"mcp"};
  for (const auto& property : find_operation(kServe)->properties) {
    const auto value = request.find(std::string(property.name));
    if (value == request.end() || *value == false) continue;
    if (!property.default_json.empty() && value->dump() == property.default_json) continue;
    const auto flag = fmt::format("--{}", property.flag);
    if (value->is_boolean()) {
      arguments.push_back(flag);
    } else if (value->is_array()) {
      for (const auto& item : *value)
        arguments.push_back(fmt::format("{}={}", flag, item.get<std::string>()));
    } else {
      arguments.push_back(fmt::format("{}={}", flag, value->get<std::string>()));
    }
  }
  return arguments;
}

Json environment() {
  Json variables = Json::object();
  for (const auto* name : kVariables) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      variables[name] = value;
  }
  return variables;
}

Result<std::string> own_path() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink(kOwnBinary, failed);
  if (failed) return io_error("find", kOwnBinary, failed.value());
  return path.string();
}

Json json_entry(const std::string& program, const Json& request) {
  Json entry = {{"command", program}, {"args", server_arguments(request)}};
  if (auto variables = environment(); !variables.empty()) entry["env"] = std::move(variables);
  return entry;
}

/// TOML's basic strings have JSON's escapes.
std::string toml_entry(const Json& entry) {
  auto text = fmt::format("[mcp_servers.sshx]\ncommand = {}\nargs = {}\n",
                          dump_json(entry["command"]), dump_json(entry["args"]));
  if (!entry.contains("env")) return text;
  text += "\n[mcp_servers.sshx.env]\n";
  for (const auto& [name, value] : entry["env"].items())
    text += fmt::format("{} = {}\n", name, dump_json(value));
  return text;
}

struct Client {
  std::string_view name;
  std::string_view place;
  std::string_view key;  ///< Of the object that servers stand in; empty: TOML.
};

constexpr std::array<Client, 4> kClients{{
    {"claude", ".mcp.json in a project, or claude_desktop_config.json", "mcpServers"},
    {"vscode", ".vscode/mcp.json in a workspace", "servers"},
    {"cursor", ".cursor/mcp.json in a project, or ~/.cursor/mcp.json", "mcpServers"},
    {"codex", "~/.codex/config.toml", ""},
}};

const Client& client_named(const std::string& name) {
  // The descriptor lets no other pass.
  return *std::ranges::find(kClients, name, &Client::name);
}

std::string entry_text(const Client& client, Json entry) {
  if (client.key.empty()) return toml_entry(entry);
  if (client.name == "vscode") entry["type"] = "stdio";
  Json file = Json::object();
  file[std::string(client.key)]["sshx"] = std::move(entry);
  return pretty_json(file);
}

std::vector<std::string> notes_for(const Client& client, const Json& entry) {
  std::vector<std::string> notes{fmt::format("for {}", client.place)};
  if (!entry.contains("env") || !entry["env"].contains("SSH_AUTH_SOCK")) {
    notes.emplace_back(
        "SSH_AUTH_SOCK is not set here, so the server will have no authentication agent: give "
        "hosts an identity, or add it to env");
  } else {
    notes.emplace_back("env names the agent's socket of this login; change it if it moves");
  }
  return notes;
}

}  // namespace

Result<ClientEntry> client_entry(const Json& request) {
  SSHX_TRY(const auto program, own_path());
  const auto& client = client_named(request["client"].get<std::string>());
  const auto entry = json_entry(program, request);
  return ClientEntry{entry_text(client, entry), notes_for(client, entry)};
}

}  // namespace sshx::mcp
