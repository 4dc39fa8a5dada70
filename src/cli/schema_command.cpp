#include "cli/schema_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/table.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

Json list_document() {
  Json schemas = Json::array();
  for (const auto& schema : published_schemas()) {
    schemas.push_back({{"name", schema.name}, {"kind", schema.kind}, {"title", schema.title}});
  }
  return {{"schema_version", "sshx.schemas.v1"},
          {"success", true},
          {"count", schemas.size()},
          {"schemas", std::move(schemas)}};
}

std::string list_table() {
  Table table({"NAME", "KIND", "TITLE"});
  for (const auto& schema : published_schemas()) {
    table.add({std::string(schema.name), std::string(schema.kind), std::string(schema.title)});
  }
  return table.text();
}

Error unknown_schema(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& schema : published_schemas()) names.emplace_back(schema.name);
  const auto near = nearest(name, names);
  return config_error("unknown_schema", fmt::format("there is no schema '{}'", printable(name)),
                      near ? fmt::format("did you mean {}?", *near)
                           : "sshx schema list shows them");
}

/// Of a request that agents cannot make there is no other form.
Error not_for_agents(const std::string& name) {
  return config_error(
      "unknown_schema",
      fmt::format("agents cannot ask for {}, so it has no schema on the surface mcp",
                  printable(name)),
      fmt::format("leave --surface out: sshx schema show {}", printable(name)));
}

Status show(const Json& request, Terminal& terminal) {
  const auto all = published_schemas();
  const auto name = request.at("name").get<std::string>();
  const auto found = std::ranges::find(all, name, &PublishedSchema::name);
  if (found == all.end()) return unknown_schema(name);
  // A document is the same wherever it is read.
  if (request.at("surface") == "cli" || found->kind != "request") return terminal.out(found->text);
  if (found->mcp_text.empty()) return not_for_agents(name);
  return terminal.out(found->mcp_text);
}

}  // namespace

Result<int> run_schema_command(const Invocation& invocation, Terminal& terminal) {
  if (invocation.operation->name == "schema.show") {
    SSHX_CHECK(show(invocation.request, terminal));
  } else {
    SSHX_CHECK(terminal.out(invocation.presentation.json ? dump_json(list_document()) + "\n"
                                                         : list_table()));
  }
  return 0;
}

}  // namespace sshx::cli
