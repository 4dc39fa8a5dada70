#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/help.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

using testing::HasSubstr;

std::string help_for(const std::vector<std::string>& arguments) {
  const auto invocation = parse_invocation(arguments);
  EXPECT_TRUE(invocation && invocation->action == Action::help);
  return help_text(*invocation);
}

/// The page with all white space as single spaces, so that line breaks do not matter.
std::string flowing(const std::string& page) {
  std::string text;
  for (const char c : page) {
    const bool space = c == ' ' || c == '\n';
    if (!space) text += c;
    if (space && !text.ends_with(' ')) text += ' ';
  }
  return text;
}

std::string operation_page(const Operation& operation) {
  auto arguments = split(operation.name, '.');
  arguments.emplace_back("--help");
  return help_for(arguments);
}

TEST(Help, ShowsEveryOptionWithItsFacts) {
  for (const auto& operation : operations()) {
    const auto page = operation_page(operation);
    for (const auto properties : {operation.properties, operation.presentation}) {
      for (const auto& property : properties) {
        if (!property.flag.empty()) {
          EXPECT_THAT(page, HasSubstr(fmt::format("--{}", property.flag)));
        }
        for (const auto choice : property.choices)
          EXPECT_THAT(page, HasSubstr(std::string(choice)));
      }
    }
    for (const auto& example : operation.examples)
      EXPECT_THAT(page, HasSubstr(std::string(example.command)));
  }
}

TEST(Help, FitsATerminalOfEightyColumns) {
  std::vector<std::string> pages{help_for({"--help"}), help_for({"host", "--help"})};
  for (const auto& operation : operations()) pages.push_back(operation_page(operation));
  for (const auto& page : pages) {
    EXPECT_TRUE(page.ends_with("\n"));
    for (const auto& line : split(page, '\n')) {
      EXPECT_LE(line.size(), 80U) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(Help, TellsDefaultsRangesAndChoices) {
  const auto page = flowing(help_for({"run", "--help"}));
  EXPECT_THAT(page, HasSubstr("default 60s"));
  EXPECT_THAT(page, HasSubstr("0.1s to 24h"));
  EXPECT_THAT(page, HasSubstr("default 10MiB"));
  EXPECT_THAT(page, HasSubstr("one of read, change, unknown"));
  EXPECT_THAT(page, HasSubstr("Usage: sshx run [options] -- COMMAND..."));
  EXPECT_THAT(page, testing::Not(HasSubstr("stdin_base64")));
}

TEST(Help, ListsEveryOperationOnTheGeneralPage) {
  const auto page = flowing(help_for({"--help"}));
  for (const auto& operation : operations())
    EXPECT_THAT(page, HasSubstr(std::string(operation.summary)));
  EXPECT_THAT(page, HasSubstr("255"));
  for (const auto* flag : {"--json ", "--jsonl ", "--request "}) EXPECT_THAT(page, HasSubstr(flag));
}

TEST(Help, ListsAGroupsOperations) {
  const auto page = help_for({"audit", "--help"});
  EXPECT_THAT(page, HasSubstr("audit query"));
  EXPECT_THAT(page, HasSubstr("audit show"));
  EXPECT_THAT(page, testing::Not(HasSubstr("host add")));
  EXPECT_THAT(help_for({"mcp", "--help"}), HasSubstr("sshx mcp alone is sshx mcp serve."));
}

}  // namespace
}  // namespace sshx::cli
