#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sshx {

/// The JSON type of a request property.
enum class PropertyType : std::uint8_t { string, integer, number, boolean, string_list };

/// Who is asking: a person at the command line, or an agent through `sshx mcp`. Properties kept to
/// the command line do not exist on the other surface.
enum class Surface : std::uint8_t { cli, mcp };

enum class Placement : std::uint8_t {
  flag,        ///< --name on the command line.
  positional,  ///< A word at `position`.
  rest,        ///< The words after `--`, joined by shell_command.
  none,        ///< Only in a JSON request.
};

/// One property of a request, as its descriptor declares it. All text lives as long as the program.
struct Property {
  std::string_view name;        ///< snake_case: the request key and the MCP argument.
  std::string_view flag;        ///< kebab-case without dashes; empty without a flag.
  char short_flag;              ///< 0 for none.
  std::string_view value_name;  ///< NAME in `--target NAME`.
  std::string_view group;       ///< Heading in --help.
  std::string_view description;
  PropertyType type;
  Placement placement;
  int position;  ///< For Placement::positional.
  bool required;
  bool cli_only;
  bool commas;  ///< A list whose flag also takes several items, separated by commas.
  std::string_view default_json;  ///< JSON text; empty for none.
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<long long> min_length;  ///< Of a string, or of each item of a list.
  std::optional<long long> max_length;
  std::optional<long long> max_items;
  std::string_view pattern;                   ///< ECMAScript pattern; empty for none.
  std::span<const std::string_view> choices;  ///< enum
  std::string_view mcp_default_json;          ///< Instead of default_json for agents; or empty.
  std::optional<double> mcp_maximum;          ///< Instead of maximum for agents.
};

struct Example {
  std::string_view command;
  std::string_view text;
};

/// One operation, generated from schemas/operations/NAME.json.
struct Operation {
  std::string_view name;  ///< "host.add": the subcommand path.
  std::string_view title;
  std::string_view summary;
  std::string_view description;
  std::string_view document;          ///< schema_version of what it prints.
  std::string_view dry_run_document;  ///< Empty when there is no dry-run.
  std::string_view tool_name;         ///< "sshx_host_add"; empty when it is no MCP tool.
  std::string_view tool_json;         ///< The tool as `tools/list` shows it, one line of JSON.
  bool group_default;  ///< Whether the group's word alone stands for it: `sshx mcp` is `mcp serve`.
  std::span<const Property> properties;
  std::span<const Property> presentation;  ///< --json, --audit ...: not part of a request.
  std::span<const Example> examples;
};

/// A published schema: an operation's expanded request, a document, or an MCP tool.
struct PublishedSchema {
  std::string_view name;  ///< "run", "sshx.result.v1" or "sshx_run".
  std::string_view kind;  ///< "request", "document" or "tool".
  std::string_view title;
  std::string_view text;  ///< JSON.
  /// Of a request that agents can make, as they can make it; else empty.
  std::string_view mcp_text;
};

/// All operations, sorted by name.
[[nodiscard]] std::span<const Operation> operations() noexcept;
/// Null when there is none of that name.
[[nodiscard]] const Operation* find_operation(std::string_view name) noexcept;
[[nodiscard]] std::span<const PublishedSchema> published_schemas() noexcept;

}  // namespace sshx
