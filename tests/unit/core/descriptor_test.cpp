#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/json.h"
#include "core/request.h"

namespace sshx {
namespace {

TEST(Operations, AreSortedAndFound) {
  EXPECT_TRUE(std::ranges::is_sorted(operations(), {}, &Operation::name));
  for (const auto& operation : operations()) EXPECT_EQ(find_operation(operation.name), &operation);
  EXPECT_EQ(find_operation("host"), nullptr);
  EXPECT_EQ(find_operation(""), nullptr);
}

TEST(Operations, PrintADocumentThatIsPublished) {
  for (const auto& operation : operations()) {
    for (const auto document : {operation.document, operation.dry_run_document}) {
      const auto found = std::ranges::find(published_schemas(), document, &PublishedSchema::name);
      EXPECT_TRUE(document.empty() || found != published_schemas().end())
          << operation.name << ": " << document;
    }
  }
}

TEST(Operations, HaveDefaultsThatTheirOwnChecksAccept) {
  for (const auto& operation : operations()) {
    for (const auto properties : {operation.properties, operation.presentation}) {
      for (const auto& property : properties) {
        for (const auto surface : {Surface::cli, Surface::mcp}) {
          const auto held = on_surface(property, surface);
          if (held.default_json.empty()) continue;
          const auto value = parse_json(held.default_json, "default");
          ASSERT_TRUE(value) << operation.name << " " << property.name;
          EXPECT_TRUE(check_property(held, *value)) << operation.name << " " << property.name;
        }
      }
    }
  }
}

TEST(Operations, KeepTheTableOfKindsInTheAuditFilter) {
  const auto* property = find_property(*find_operation("audit.query"), "error_kind");
  ASSERT_NE(property, nullptr);
  std::set<std::string_view> kinds;
  for (const auto& row : error_kinds()) kinds.insert(row.name);
  EXPECT_EQ(std::set<std::string_view>(property->choices.begin(), property->choices.end()), kinds);
}

TEST(PublishedSchemas, AreJsonObjectsWithTheirTitle) {
  std::set<std::string_view> names;
  for (const auto& schema : published_schemas()) {
    EXPECT_TRUE(names.insert(schema.name).second) << schema.name;
    const auto value = parse_json(schema.text, schema.name);
    ASSERT_TRUE(value) << schema.name;
    if (schema.kind != "tool") {
      EXPECT_EQ((*value)["type"], "object") << schema.name;
    }
    EXPECT_TRUE(schema.text.ends_with("\n")) << schema.name;
    EXPECT_THAT(schema.kind, testing::AnyOf("request", "document", "tool")) << schema.name;
  }
}

// What an agent is shown is what check_request takes on its surface.
TEST(Tools, AreTheOperationAsAnAgentCanGiveIt) {
  int count = 0;
  for (const auto& operation : operations()) {
    EXPECT_EQ(operation.tool_name.empty(), operation.tool_json.empty()) << operation.name;
    if (operation.tool_name.empty()) continue;
    ++count;
    const auto tool = *parse_json(operation.tool_json, operation.name);
    EXPECT_EQ(tool["name"], operation.tool_name);
    EXPECT_EQ(tool["title"], operation.title);
    std::set<std::string> expected;
    for (const auto& property : operation.properties) {
      if (!property.cli_only) expected.emplace(property.name);
    }
    std::set<std::string> shown;
    for (const auto& [name, schema] : tool["inputSchema"]["properties"].items()) shown.insert(name);
    EXPECT_EQ(shown, expected) << operation.name;
  }
  EXPECT_GT(count, 0);
}

TEST(Tools, AreOneLineAndPublishedUnderTheirName) {
  for (const auto& operation : operations()) {
    if (operation.tool_name.empty()) continue;
    EXPECT_EQ(operation.tool_json.find('\n'), std::string_view::npos) << operation.name;
    const auto found =
        std::ranges::find(published_schemas(), operation.tool_name, &PublishedSchema::name);
    ASSERT_NE(found, published_schemas().end()) << operation.tool_name;
    EXPECT_EQ(found->kind, "tool");
    EXPECT_EQ(*parse_json(found->text, "text"), *parse_json(operation.tool_json, "line"));
  }
}

// What is published for agents is what check_request holds them to.
TEST(PublishedSchemas, TellAgentsWhatTheyAreHeldTo) {
  int published = 0;
  for (const auto& schema : published_schemas()) {
    if (schema.mcp_text.empty()) continue;
    const auto& operation = *find_operation(schema.name);
    const auto text = *parse_json(schema.mcp_text, schema.name);
    std::size_t properties = 0;
    for (const auto& declared : operation.properties) {
      const auto& shown = text["properties"];
      EXPECT_EQ(shown.contains(declared.name), !declared.cli_only) << declared.name;
      if (declared.cli_only) continue;
      const auto held = on_surface(declared, Surface::mcp);
      const auto& property = shown[std::string(declared.name)];
      EXPECT_EQ(property.contains("default") ? dump_json(property["default"]) : "",
                held.default_json)
          << declared.name;
      EXPECT_EQ(property.contains("maximum") ? std::optional(property["maximum"].get<double>())
                                             : std::nullopt,
                held.maximum)
          << declared.name;
      ++properties;
    }
    EXPECT_EQ(text["properties"].size(), properties);
    ++published;
  }
  EXPECT_EQ(published, 3);
}

// Portable for every agent (design §2): one closed object of plain typed properties.
TEST(PublishedSchemas, KeepRequestsPlain) {
  for (const auto& operation : operations()) {
    const auto found =
        std::ranges::find(published_schemas(), operation.name, &PublishedSchema::name);
    ASSERT_NE(found, published_schemas().end());
    const auto schema = *parse_json(found->text, operation.name);
    EXPECT_EQ(schema["additionalProperties"], false);
    EXPECT_EQ(schema["properties"].size(), operation.properties.size());
    for (const auto& [name, property] : schema["properties"].items()) {
      EXPECT_TRUE(property["type"].is_string()) << name;
      EXPECT_TRUE(property["description"].is_string()) << name;
    }
    for (const auto* word : {"$ref", "oneOf", "anyOf", "allOf", "x-"}) {
      EXPECT_THAT(std::string(found->text), testing::Not(testing::HasSubstr(word)))
          << operation.name;
    }
  }
}

}  // namespace
}  // namespace sshx
