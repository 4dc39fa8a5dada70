#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/build_info.h"
#include "mcp/catalog.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "unit/loop/scratch.h"

namespace sshx::mcp {
namespace {

using test::outcome_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Names = std::vector<std::string>;
using Options = std::vector<std::string_view>;

Revision handshake(const char* date) { return {Era::handshake, date}; }

const Revision kStateless{Era::stateless, "2026-07-28"};

Tools chosen(const Names& names, const Options& required = {}) {
  auto tools = Tools::choose(names, required);
  EXPECT_TRUE(tools.has_value());
  return tools.has_value() ? *tools : Tools();
}

Names names_of(const Tools& tools, const Revision& revision = kStateless) {
  Names names;
  for (const auto& tool : tools.list(revision)) names.push_back(tool["name"]);
  return names;
}

TEST(ToolsTest, AllThereAreUnlessSomeAreNamedInTheOrderOfTheirNames) {
  const auto all = names_of(chosen({}));
  EXPECT_THAT(all, testing::IsSupersetOf({"sshx_run", "sshx_host_list", "sshx_audit_query"}));
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST(ToolsTest, AreNamedWithOrWithoutTheirPrefix) {
  EXPECT_THAT(names_of(chosen({"run", "sshx_host_list", "sshx_run"})),
              ElementsAre("sshx_host_list", "sshx_run"));
}

TEST(ToolsTest, AnUnknownNameIsRefusedWithTheNearest) {
  for (const std::string name :
       {"", "sshx_", "rum", "RUN", "sshx_run ", "host.list", "audit_show"}) {
    EXPECT_EQ(outcome_of(Tools::choose(Names{"run", name}, Options{})), "config/range") << name;
  }
  const auto refused = Tools::choose(Names{"sshx_rum"}, Options{});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message + refused.error().hint, HasSubstr("sshx_run"));
}

TEST(ToolsTest, WhatCannotBeLimitedAsRequiredIsLeftOut) {
  EXPECT_THAT(names_of(chosen({}, {"no_such_option"})), IsEmpty());
  for (const auto& name : names_of(chosen({}, {"audit"}))) {
    EXPECT_TRUE(takes(*chosen({}).find(name), "audit")) << name;
  }
  EXPECT_THAT(names_of(chosen({"run"}, {"json", "request", "surface"})), ElementsAre("sshx_run"));
}

TEST(ToolsTest, OnlyWhatIsOfferedIsFound) {
  const auto tools = chosen({"host_list"});
  ASSERT_NE(tools.find("sshx_host_list"), nullptr);
  EXPECT_EQ(tools.find("sshx_host_list")->name, "host.list");
  for (const auto* name : {"sshx_run", "host_list", "host.list", "", "SSHX_HOST_LIST"}) {
    EXPECT_EQ(tools.find(name), nullptr) << name;
  }
  EXPECT_EQ(Tools().find(""), nullptr);
  EXPECT_THAT(Tools().list(kStateless), IsEmpty());
}

/// One tool that a client cannot read hides all others (field report B141).
TEST(ToolsTest, EveryToolIsOneThatAllClientsCanRead) {
  for (const auto& tool : chosen({}).list(kStateless)) {
    const auto text = dump_json(tool);
    EXPECT_THAT(tool["name"].get<std::string>(), testing::MatchesRegex("[a-z_]{1,40}"));
    EXPECT_TRUE(tool["description"].is_string()) << text;
    EXPECT_LE(tool["description"].get<std::string>().size(), 900U) << text;
    for (const auto* schema : {"inputSchema", "outputSchema"}) {
      EXPECT_EQ(tool[schema]["type"], "object") << text;
      EXPECT_TRUE(tool[schema]["properties"].is_object()) << text;
      for (const auto* keyword : {"anyOf", "oneOf", "allOf", "if", "$ref"}) {
        EXPECT_FALSE(tool[schema].contains(keyword)) << keyword;
      }
    }
    EXPECT_EQ(tool["inputSchema"]["additionalProperties"], Json(false)) << text;
    for (const auto* hint :
         {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}) {
      EXPECT_TRUE(tool["annotations"][hint].is_boolean()) << hint;
    }
  }
}

TEST(ToolsTest, ARevisionSeesWhatItKnows) {
  const auto has = [](const char* date, const char* key) {
    const auto list = chosen({"run"}).list(handshake(date));
    return list.at(0).contains(key);
  };
  for (const auto* date : {"2024-11-05", "2025-03-26"}) {
    EXPECT_FALSE(has(date, "outputSchema")) << date;
    EXPECT_FALSE(has(date, "title")) << date;
  }
  for (const auto* date : {"2025-06-18", "2025-11-25"}) {
    EXPECT_TRUE(has(date, "outputSchema")) << date;
    EXPECT_TRUE(has(date, "title")) << date;
  }
  EXPECT_FALSE(has("2024-11-05", "annotations"));
  EXPECT_TRUE(has("2025-03-26", "annotations"));
}

TEST(CatalogTest, AnInitializeResultSaysWhoAnswersAndWhatItCan) {
  const auto result = initialize_result("2025-06-18", "words");
  EXPECT_EQ(result["protocolVersion"], "2025-06-18");
  EXPECT_EQ(result["instructions"], "words");
  EXPECT_EQ(result["serverInfo"]["name"], "sshx");
  EXPECT_EQ(result["serverInfo"]["version"], build_info::kVersion);
  // No capability is claimed that is not served: no list ever changes, nothing is logged.
  EXPECT_EQ(result["capabilities"], parse_json(R"({"tools":{},"resources":{}})", "it").value());
}

TEST(CatalogTest, ADiscoverResultNamesStatelessRevisionsOnly) {
  const auto result = discover_result("words");
  EXPECT_EQ(result["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(result["instructions"], "words");
  EXPECT_TRUE(result["capabilities"].contains("tools"));
}

TEST(CatalogTest, OnlyAStatelessResultSaysItsTypeAndWhoAnswers) {
  const Json plain = {{"a", 1}};
  for (const auto& date : kHandshakeRevisions) {
    EXPECT_EQ(finished(handshake(std::string(date).c_str()), plain), plain);
    EXPECT_EQ(cacheable(handshake(std::string(date).c_str()), plain), plain);
  }
  const auto result = finished(kStateless, plain);
  EXPECT_EQ(result["a"], 1);
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sshx");
  EXPECT_FALSE(result.contains("ttlMs"));
  const auto kept = cacheable(kStateless, plain);
  EXPECT_TRUE(kept["ttlMs"].is_number_integer());
  EXPECT_GE(kept["ttlMs"].get<int>(), 0);
  EXPECT_EQ(kept["cacheScope"], "private");
  EXPECT_EQ(kept["resultType"], "complete");
}

TEST(CatalogTest, EveryResourceThatIsListedCanBeRead) {
  const auto list = resource_list();
  ASSERT_FALSE(list.empty());
  for (const auto& resource : list) {
    const auto read = read_resource({{"uri", resource["uri"]}}, kStateless);
    ASSERT_TRUE(std::holds_alternative<Json>(read)) << dump_json(resource);
    const auto& contents = std::get<Json>(read)["contents"];
    ASSERT_EQ(contents.size(), 1U);
    EXPECT_EQ(contents[0]["uri"], resource["uri"]);
    EXPECT_EQ(contents[0]["mimeType"], resource["mimeType"]);
    const auto schema = parse_json(contents[0]["text"].get<std::string>(), "a schema");
    ASSERT_TRUE(schema.has_value());
    EXPECT_THAT(resource["uri"].get<std::string>(), HasSubstr("sshx://schema/sshx."));
  }
}

TEST(CatalogTest, AnUnknownResourceHasTheCodeOfItsRevision) {
  for (const auto* uri : {"", "sshx://schema/", "sshx://schema/run", "sshx://schema/sshx_run",
                          "file:///etc/passwd", "sshx://schema/../sshx.result.v1"}) {
    const auto old = read_resource({{"uri", uri}}, handshake("2025-11-25"));
    ASSERT_TRUE(std::holds_alternative<Fault>(old)) << uri;
    EXPECT_EQ(std::get<Fault>(old).code, -32002);
    const auto now = read_resource({{"uri", uri}}, kStateless);
    EXPECT_EQ(std::get<Fault>(now).code, -32602);
    EXPECT_EQ(std::get<Fault>(now).data["uri"], uri);
  }
}

TEST(CatalogTest, AResourceIsNamedByAString) {
  for (const Json& params : {Json::object(), Json{{"uri", nullptr}}, Json{{"uri", 1}},
                             Json{{"uri", Json::array()}}, Json{{"URI", "x"}}}) {
    const auto read = read_resource(params, handshake("2025-11-25"));
    ASSERT_TRUE(std::holds_alternative<Fault>(read));
    EXPECT_EQ(std::get<Fault>(read).code, -32602);
  }
}

TEST(InstructionsTest, AreWithinWhatClientsShowAndTellWhatIsConfined) {
  constexpr std::size_t kShown = 2048;
  const auto plain = instructions_for(Json::object());
  EXPECT_THAT(plain, testing::Not(HasSubstr("read-only")));
  const auto confined =
      instructions_for({{"read_only", true}, {"allow_targets", Json::array({"web-*"})}});
  EXPECT_LE(confined.size(), kShown);
  EXPECT_THAT(confined, HasSubstr("read-only"));
  EXPECT_THAT(confined, HasSubstr("only the hosts that sshx_host_list shows"));
}

}  // namespace
}  // namespace sshx::mcp
