#include <gmock/gmock.h>

#include "mcp/message.h"
#include "mcp/revision.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::error_code;
using test::ScriptedServer;
using test::stateless_meta;
using testing::HasSubstr;
using testing::IsEmpty;

Json list_of(ScriptedServer& server, const Json& id) {
  server.request(id, "tools/list");
  return server.response(id);
}

TEST(HandshakeTest, AgreesOnEachRevisionThatIsServed) {
  for (const auto& date : kHandshakeRevisions) {
    ScriptedServer server;
    const auto result = server.initialize(std::string(date))["result"];
    EXPECT_EQ(result["protocolVersion"], date);
    EXPECT_EQ(result["serverInfo"]["name"], "sshx");
    EXPECT_EQ(result["instructions"], "the instructions");
    EXPECT_FALSE(result.contains("resultType"));
    EXPECT_FALSE(result.contains("_meta"));
    const auto list = list_of(server, 1)["result"];
    EXPECT_FALSE(list["tools"].empty());
    EXPECT_FALSE(list.contains("nextCursor"));
    EXPECT_FALSE(list.contains("ttlMs"));
    EXPECT_EQ(list["tools"][0].contains("outputSchema"), date >= "2025-06-18");
    EXPECT_EQ(list["tools"][0].contains("annotations"), date >= "2025-03-26");
    EXPECT_THAT(server.finish(), IsEmpty());
  }
}

TEST(HandshakeTest, OffersTheNewestWhereAnotherIsAskedFor) {
  for (const auto* asked : {"2026-07-28", "1999-01-01", "", "2024-10-07"}) {
    ScriptedServer server;
    EXPECT_EQ(server.initialize(asked)["result"]["protocolVersion"], "2025-11-25") << asked;
    EXPECT_TRUE(list_of(server, 1).contains("result"));
  }
}

TEST(HandshakeTest, TheVersionIsAString) {
  ScriptedServer server;
  for (const Json& params :
       {Json::object(), Json{{"protocolVersion", 1}}, Json{{"protocolVersion", nullptr}}}) {
    server.request(1, "initialize", params);
    EXPECT_EQ(error_code(server.response(1)), kInvalidParams);
  }
  EXPECT_EQ(error_code(list_of(server, 2)), kInvalidParams) << "nothing was agreed on";
}

TEST(HandshakeTest, MayBeRepeatedAndTheLastOneHolds) {
  ScriptedServer server;
  server.initialize("2024-11-05");
  server.initialize("2025-06-18");
  EXPECT_TRUE(list_of(server, 1)["result"]["tools"][0].contains("outputSchema"));
  server.initialize("2024-11-05");
  EXPECT_FALSE(list_of(server, 2)["result"]["tools"][0].contains("outputSchema"));
}

TEST(HandshakeTest, RequestsNeedNotWaitForTheInitializedNotification) {
  ScriptedServer server;
  server.request(0, "initialize", {{"protocolVersion", "2025-11-25"}});
  server.request("", "tools/list");
  EXPECT_TRUE(server.response(0).contains("result"));
  EXPECT_TRUE(server.response("").contains("result"));
}

TEST(HandshakeTest, BeforeItPingIsAnsweredAndWhatNeedsARevisionIsRefused) {
  ScriptedServer server;
  server.expect_nothing_before_a_ping();
  for (const auto* method : {"tools/list", "tools/call", "resources/list", "no/such"}) {
    server.request(1, method);
    const auto answer = server.response(1);
    EXPECT_EQ(error_code(answer), kInvalidParams) << method;
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("initialize"));
  }
}

TEST(StatelessTest, DiscoverNeedsNoHandshake) {
  ScriptedServer server;
  server.request(1, "server/discover", {{"_meta", stateless_meta()}});
  const auto result = server.response(1)["result"];
  EXPECT_EQ(result["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_TRUE(result["ttlMs"].is_number_integer());
  EXPECT_EQ(result["cacheScope"], "private");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sshx");
  EXPECT_EQ(result["instructions"], "the instructions");
}

TEST(StatelessTest, DiscoverWithoutAnEnvelopeIsRefused) {
  ScriptedServer server;
  server.request(1, "server/discover");
  EXPECT_EQ(error_code(server.response(1)), kInvalidParams);
  server.initialize();
  server.request(2, "server/discover");
  EXPECT_EQ(error_code(server.response(2)), kInvalidParams);
}

TEST(StatelessTest, AnUnsupportedVersionIsRefusedOnEveryRequest) {
  ScriptedServer server;
  server.request(1, "server/discover", {{"_meta", stateless_meta()}});
  const auto supported = server.response(1)["result"]["supportedVersions"];
  auto meta = stateless_meta();
  meta["io.modelcontextprotocol/protocolVersion"] = "v999.0.0";
  for (const auto* method : {"server/discover", "tools/list", "tools/call", "ping"}) {
    server.request(2, method, {{"_meta", meta}});
    const auto answer = server.response(2);
    EXPECT_EQ(error_code(answer), kUnsupportedVersion) << method;
    EXPECT_EQ(answer["error"]["data"]["supported"], supported);
    EXPECT_EQ(answer["error"]["data"]["requested"], "v999.0.0");
  }
}

TEST(StatelessTest, WhatTheRevisionRemovedIsNotFound) {
  ScriptedServer server;
  server.initialize();
  for (const auto* method : {"ping", "initialize", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "completion/complete", "prompts/list"}) {
    server.request(1, method, {{"_meta", stateless_meta()}, {"protocolVersion", "2025-11-25"}});
    EXPECT_EQ(error_code(server.response(1)), kMethodNotFound) << method;
  }
}

TEST(StatelessTest, BothErasAreServedInOneSession) {
  ScriptedServer server;
  server.behave("x", "answer true x");
  for (int round = 0; round < 3; ++round) {
    server.request(1, "server/discover", {{"_meta", stateless_meta()}});
    EXPECT_TRUE(server.response(1)["result"].contains("supportedVersions"));
    EXPECT_EQ(server.initialize("2024-11-05")["result"]["protocolVersion"], "2024-11-05");
    server.request(2, "tools/list", {{"_meta", stateless_meta()}});
    const auto modern = server.response(2)["result"];
    EXPECT_EQ(modern["resultType"], "complete");
    EXPECT_TRUE(modern["tools"][0].contains("outputSchema"));
    const auto old = list_of(server, 3)["result"];
    EXPECT_FALSE(old.contains("resultType"));
    EXPECT_FALSE(old["tools"][0].contains("outputSchema"));
    server.call(4, "x", stateless_meta());
    EXPECT_EQ(server.response(4)["result"]["resultType"], "complete");
    server.call(5, "x");
    const auto result = server.response(5)["result"];
    EXPECT_FALSE(result.contains("resultType"));
    EXPECT_FALSE(result.contains("structuredContent"));
    EXPECT_EQ(result["content"][0]["type"], "text");
  }
}

TEST(StatelessTest, ListsAreTheSameForEveryConnection) {
  const auto list = [](const Json& meta) {
    ScriptedServer server;
    server.request(1, "tools/list", {{"_meta", meta}});
    return dump_json(server.response(1));
  };
  EXPECT_EQ(list(stateless_meta()), list(stateless_meta()));
}

}  // namespace
}  // namespace sshx::mcp
