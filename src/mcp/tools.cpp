#include "mcp/tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace sshx::mcp {
namespace {

constexpr std::string_view kPrefix = "sshx_";

std::vector<const Operation*> all_tools() {
  std::vector<const Operation*> tools;
  for (const auto& operation : operations()) {
    if (!operation.tool_name.empty()) tools.push_back(&operation);
  }
  std::ranges::sort(tools, {}, &Operation::tool_name);
  return tools;
}

Error unknown_tool(const std::string& name, const std::vector<const Operation*>& tools) {
  std::vector<std::string> names;
  for (const auto* tool : tools) names.emplace_back(tool->tool_name);
  const auto near = nearest(name, names);
  return config_error("range",
                      fmt::format("tools (--tools): there is no tool '{}'", printable(name)),
                      near ? fmt::format("did you mean {}?", *near)
                           : fmt::format("there are: {}", join(names, ", ")));
}

bool is_named(const Operation* tool, std::string_view name) {
  return tool->tool_name == name || tool->tool_name.substr(kPrefix.size()) == name;
}

}  // namespace

bool takes(const Operation& operation, std::string_view presentation) noexcept {
  return std::ranges::find(operation.presentation, presentation, &Property::name) !=
         operation.presentation.end();
}

Result<Tools> Tools::choose(std::span<const std::string> names,
                            std::span<const std::string_view> required) {
  const auto all = all_tools();
  for (const auto& name : names) {
    const auto fits = [&](const Operation* tool) { return is_named(tool, name); };
    if (std::ranges::none_of(all, fits)) return unknown_tool(name, all);
  }
  Tools tools;
  for (const auto* tool : all) {
    const auto fits = [&](const std::string& name) { return is_named(tool, name); };
    const bool wanted = names.empty() || std::ranges::any_of(names, fits);
    const auto has = [&](std::string_view option) { return takes(*tool, option); };
    if (wanted && std::ranges::all_of(required, has)) tools.offered_.push_back(tool);
  }
  return tools;
}

const Operation* Tools::find(std::string_view tool) const noexcept {
  const auto found = std::ranges::find(offered_, tool, &Operation::tool_name);
  return found == offered_.end() ? nullptr : *found;
}

Json Tools::list(const Revision& revision) const {
  Json list = Json::array();
  for (const auto* operation : offered_) {
    // The build made it from the descriptor.
    auto tool = parse_json(operation->tool_json, "a tool").value();
    if (!revision.has_tool_annotations()) tool.erase("annotations");
    if (!revision.has_structured_content()) {
      tool.erase("title");
      tool.erase("outputSchema");
    }
    list.push_back(std::move(tool));
  }
  return list;
}

}  // namespace sshx::mcp
