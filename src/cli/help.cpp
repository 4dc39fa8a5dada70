#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "cli/words.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kTextColumn = 28;
constexpr std::size_t kOptionIndent = 2;

/// `text` broken between words so that lines after `indent` columns stay within the width. The
/// first line's indent is the caller's.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  for (const auto& word : split(text, ' ')) {
    if (column != indent && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

/// A name at the left and its text at the text column; below the name where the name is too long
/// for that.
std::string row(std::string_view name, std::string_view text) {
  auto line = std::string(kOptionIndent, ' ') + std::string(name);
  if (line.size() + 2 > kTextColumn) {
    line += "\n" + std::string(kTextColumn, ' ');
  } else {
    line.resize(kTextColumn, ' ');
  }
  return line + wrapped(text, kTextColumn) + "\n";
}

std::string paragraph(std::string_view text) { return wrapped(text, 0) + "\n"; }

std::string name_of(const Property& property) {
  if (property.placement == Placement::positional) return std::string(property.value_name);
  if (property.placement == Placement::rest) return fmt::format("-- {} ...", property.value_name);
  const auto value =
      property.value_name.empty() ? std::string() : fmt::format(" {}", property.value_name);
  if (property.short_flag == 0) return fmt::format("    --{}{}", property.flag, value);
  return fmt::format("-{}, --{}{}", property.short_flag, property.flag, value);
}

struct Unit {
  double size;
  std::string_view name;
};

constexpr std::array<Unit, 2> kTimeUnits{{{3600, "h"}, {1, "s"}}};
constexpr std::array<Unit, 4> kSizeUnits{
    {{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024, "KiB"}, {1, ""}}};

/// `value` in the largest of the units that it is a whole number of.
std::string in_units(double value, std::span<const Unit> units) {
  for (const auto& unit : units) {
    const double count = value / unit.size;
    if (count >= 1 && std::trunc(count) == count) return fmt::format("{}{}", count, unit.name);
  }
  return fmt::format("{}{}", value, units.back().name);
}

/// A limit or default as it would be typed.
std::string typed(const Property& property, double value) {
  if (property.type == PropertyType::number) return in_units(value, kTimeUnits);
  if (property.value_name == "SIZE") return in_units(value, kSizeUnits);
  return fmt::format("{}", value);
}

std::string default_text(const Property& property) {
  const auto json = property.default_json;
  if (json.empty() || property.type == PropertyType::boolean) return {};
  if (property.type == PropertyType::string) return std::string(json.substr(1, json.size() - 2));
  return typed(property, std::strtod(std::string(json).c_str(), nullptr));
}

/// "[required; repeatable; one of a, b; 1 to 65535; default 60s]", as far as it applies.
std::string facts_of(const Property& property) {
  std::vector<std::string> facts;
  if (property.required) facts.emplace_back("required");
  if (property.type == PropertyType::string_list && property.max_items.value_or(2) > 1) {
    facts.emplace_back(property.commas ? "repeatable, or with commas" : "repeatable");
  }
  if (!property.choices.empty())
    facts.push_back(fmt::format("one of {}", fmt::join(property.choices, ", ")));
  if (property.minimum && property.maximum) {
    facts.push_back(fmt::format("{} to {}", typed(property, *property.minimum),
                                typed(property, *property.maximum)));
  }
  if (const auto value = default_text(property); !value.empty())
    facts.push_back("default " + value);
  return facts.empty() ? std::string() : fmt::format(" [{}]", fmt::join(facts, "; "));
}

std::vector<const Property*> shown_properties(const Operation& operation) {
  std::vector<const Property*> shown;
  for (const auto properties : {operation.properties, operation.presentation}) {
    for (const auto& property : properties) {
      if (property.placement != Placement::none) shown.push_back(&property);
    }
  }
  return shown;
}

std::string options_text(const Operation& operation) {
  const auto shown = shown_properties(operation);
  std::vector<std::string_view> groups;
  for (const auto* property : shown) {
    if (std::ranges::find(groups, property->group) == groups.end())
      groups.push_back(property->group);
  }
  std::string text;
  for (const auto group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const auto* property : shown) {
      if (property->group != group) continue;
      text += row(name_of(*property), std::string(property->description) + facts_of(*property));
    }
  }
  return text + row("-h, --help", "Print this page.");
}

std::string usage_line(const Operation& operation) {
  auto line = fmt::format("Usage: sshx {}", spaced(operation.name));
  std::string rest;
  for (const auto& property : operation.properties) {
    if (property.placement == Placement::positional) {
      line += property.required ? fmt::format(" {}", property.value_name)
                                : fmt::format(" [{}]", property.value_name);
    }
    if (property.placement == Placement::rest) rest = fmt::format(" -- {}...", property.value_name);
  }
  return line + " [options]" + rest + "\n";
}

std::string examples_text(const Operation& operation) {
  std::string text = "\nExamples:\n";
  for (const auto& example : operation.examples) {
    text +=
        fmt::format("  # {}\n  {}\n", wrapped(example.text, kOptionIndent + 2), example.command);
  }
  return text;
}

std::string operation_help(const Operation& operation) {
  auto text = usage_line(operation) + "\n" + paragraph(operation.description) +
              options_text(operation) + examples_text(operation);
  const auto group = operation.name.substr(0, operation.name.find('.'));
  return text + fmt::format("\nJSON request: sshx schema show {}\nManual: man sshx-{}\n",
                            operation.name, group);
}

std::string rows_of_group(std::string_view group) {
  std::string text;
  for (const auto& operation : operations()) {
    if (operation.name == group || operation.name.starts_with(std::string(group) + ".")) {
      text += row(spaced(operation.name), operation.summary);
    }
  }
  return text;
}

/// What the group's word alone stands for; empty where it stands for nothing.
std::string default_of_group(std::string_view group) {
  const auto* operation = group_default(group);
  if (operation == nullptr) return {};
  return fmt::format("sshx {} alone is sshx {}.\n", group, spaced(operation->name));
}

std::string group_help(std::string_view group) {
  return fmt::format(
      "Usage: sshx {} OPERATION [options]\n\n{}\n{}sshx {} OPERATION --help tells more.\n",
      spaced(group), rows_of_group(group), default_of_group(group), spaced(group));
}

std::string general_help() {
  auto text =
      std::string("Usage: sshx OPERATION [options] [-- COMMAND...]\n\n") +
      paragraph(
          "Runs one operation on trusted SSH hosts and answers with one document that a script, a "
          "CI job or an agent can branch on.") +
      "\nOperations:\n";
  for (const auto& group : next_words("")) text += rows_of_group(group);
  text += "\nEverywhere:\n" + row("--json", "Print exactly one JSON document on stdout.") +
          row("--jsonl", "run: print a line of JSON for each event, when it happens.") +
          row("--request FILE", "Take the request as JSON from FILE (- is stdin).") +
          row("--help, --version", "Print help, or the version.");
  text += "\nExit codes:\n"
          "  0 to 254  the remote command's own status; 128+N when signal N ended it\n"
          "  255       a failure of sshx itself, wrong usage included\n"
          "  host test: 0 all hosts passed, 1 some did not\n";
  text += "\nFirst steps:\n"
          "  sshx host add web-1 --address 10.0.0.5 --user alice\n"
          "  sshx host trust web-1\n"
          "  sshx run --target web-1 -- uptime\n";
  return text + "\nRead on: sshx OPERATION --help, man sshx, sshx schema list\n";
}

}  // namespace

std::string help_text(const Invocation& invocation) {
  if (invocation.operation != nullptr) return operation_help(*invocation.operation);
  return invocation.topic.empty() ? general_help() : group_help(invocation.topic);
}

}  // namespace sshx::cli
