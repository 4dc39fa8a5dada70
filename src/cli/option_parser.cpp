#include "cli/option_parser.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <span>
#include <utility>

namespace sshx::cli {
namespace {

using Declared = std::vector<std::pair<std::string, const CLI::Option*>>;

std::string spelling(const Property& property) {
  auto names = fmt::format("--{}", property.flag);
  if (property.short_flag != 0) names += fmt::format(",-{}", property.short_flag);
  return names;
}

void declare(CLI::App& app, std::span<const Property> properties, Declared& declared) {
  for (const auto& property : properties) {
    if (property.flag.empty()) continue;
    auto* option = property.type == PropertyType::boolean ? app.add_flag(spelling(property))
                                                          : app.add_option(spelling(property));
    // All values are kept, so that one given twice can be told instead of the last one winning.
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    declared.emplace_back(property.flag, option);
  }
}

}  // namespace

Result<ParsedOptions> parse_options(const Operation& operation,
                                    const std::vector<std::string>& arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  Declared declared;
  declare(app, operation.properties, declared);
  declare(app, operation.presentation, declared);
  try {
    // CLI11 takes its arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Error&) {
    return config_error("usage", "the options cannot be read", fmt::format("see sshx --help"));
  }
  ParsedOptions parsed;
  for (const auto& [flag, option] : declared) {
    if (!option->empty()) parsed.values[flag] = option->results();
  }
  parsed.rest = app.remaining();
  return parsed;
}

}  // namespace sshx::cli
