#include <gmock/gmock.h>

#include "mcp/message.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::answers_to;
using test::error_code;
using test::ScriptedServer;
using test::ServerOptions;
using test::stateless_meta;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(RequestsTest, UnknownMethodsAreNotFound) {
  ScriptedServer server;
  server.initialize();
  for (const auto* method : {"", "tools", "tools/List", "prompts/list", "logging/setLevel",
                             "resources/subscribe", "subscriptions/listen", "sampling/x"}) {
    server.request(1, method);
    EXPECT_EQ(error_code(server.response(1)), kMethodNotFound) << method;
  }
}

TEST(RequestsTest, AFaultDoesNotRepeatALongWord) {
  ScriptedServer server;
  server.initialize();
  const std::string word(50'000, '\x01');
  server.request(1, word);
  EXPECT_LT(dump_json(server.response(1)).size(), 2000U);
  server.request(2, "tools/call", {{"name", word}});
  EXPECT_LT(dump_json(server.response(2)).size(), 2000U);
}

TEST(RequestsTest, BadParametersAreInvalidParams) {
  ScriptedServer server;
  server.initialize();
  const auto refused = [&](const std::string& method, const Json& params) {
    server.request(1, method, params);
    return error_code(server.response(1)) == kInvalidParams;
  };
  EXPECT_TRUE(refused("tools/call", Json::object()));
  EXPECT_TRUE(refused("tools/call", {{"name", 1}}));
  EXPECT_TRUE(refused("tools/call", {{"name", nullptr}}));
  EXPECT_TRUE(refused("tools/call", {{"name", "sshx_run"}, {"arguments", Json::array()}}));
  EXPECT_TRUE(refused("tools/call", {{"name", "sshx_run"}, {"arguments", "x"}}));
  for (const auto* tool : {"", "run", "sshx_no", "sshx_run ", "sshx_host_remove", "../sshx_run"}) {
    EXPECT_TRUE(refused("tools/call", {{"name", tool}})) << tool;
  }
  for (const auto* list : {"tools/list", "resources/list", "resources/templates/list"}) {
    EXPECT_TRUE(refused(list, {{"cursor", "x"}})) << list;
    EXPECT_TRUE(refused(list, {{"cursor", ""}})) << list;
    EXPECT_TRUE(refused(list, {{"cursor", 7}})) << list;
  }
  EXPECT_TRUE(refused("resources/read", Json::object()));
}

TEST(RequestsTest, OnlyToolsThatAreOfferedCanBeCalled) {
  ServerOptions options;
  options.tools = {"host_list"};
  ScriptedServer server(options);
  server.initialize();
  server.behave("x", "answer true x");
  server.call(1, "x");
  EXPECT_EQ(error_code(server.response(1)), kInvalidParams);
  server.call(2, "x", nullptr, "sshx_host_list");
  EXPECT_EQ(server.document(2)["said"], "x");
}

TEST(RequestsTest, ResourcesAreListedAndRead) {
  ScriptedServer server;
  server.initialize();
  server.request(1, "resources/list");
  const auto resources = server.response(1)["result"]["resources"];
  ASSERT_FALSE(resources.empty());
  server.request(2, "resources/read", {{"uri", resources[0]["uri"]}});
  EXPECT_FALSE(server.response(2)["result"]["contents"].empty());
  server.request(3, "resources/templates/list");
  EXPECT_THAT(server.response(3)["result"]["resourceTemplates"], IsEmpty());
  server.request(4, "resources/read", {{"uri", "sshx://no"}});
  EXPECT_EQ(error_code(server.response(4)), kResourceNotFound);
  server.request(5, "resources/read", {{"uri", "sshx://no"}, {"_meta", stateless_meta()}});
  EXPECT_EQ(error_code(server.response(5)), kInvalidParams);
  server.request(6, "resources/read", {{"uri", resources[0]["uri"]}, {"_meta", stateless_meta()}});
  EXPECT_EQ(server.response(6)["result"]["cacheScope"], "private");
}

TEST(RequestsTest, NotificationsAndAnswersAreNeverAnswered) {
  ScriptedServer server;
  server.initialize();
  for (const auto* line :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"no/such"})", R"({"jsonrpc":"2.0","method":"tools/call"})",
        R"({"jsonrpc":"2.0","method":"ping"})",
        R"({"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2024-11-05"}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":[]})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"jsonrpc":"2.0","id":"x","result":null})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}})"}) {
    server.write(std::string(line) + "\n");
    server.expect_nothing_before_a_ping();
  }
}

TEST(RequestsTest, WhatIsNoJsonIsAParseErrorWithoutAnId) {
  ScriptedServer server;
  for (const std::string text :
       {"x", "{", "{\"id\":1", "nul", "'a'", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
        "{\"a\":\"\xff\xfe\"}", R"({"a":"\ud800"})",
        R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":1,"method":"ping"})",
        "{\"a\":1e999}", "\xef\xbb\xbf{", " "}) {
    server.write(text + "\n");
    const auto answer = server.next();
    EXPECT_EQ(error_code(answer), kParseError) << text;
    EXPECT_FALSE(answer.contains("id")) << text;
  }
  const std::string nul("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", 42);
  server.write(nul + "\n");
  EXPECT_EQ(error_code(server.next()), kParseError);
  server.expect_nothing_before_a_ping();
}

TEST(RequestsTest, NestingHasALimit) {
  ScriptedServer server;
  server.initialize();
  const auto nested = [](std::size_t depth) {
    return R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}\n";
  };
  server.write(nested(kMaxJsonDepth - 2));
  EXPECT_TRUE(server.response(1).contains("result"));
  server.write(nested(kMaxJsonDepth - 1));
  EXPECT_EQ(error_code(server.next()), kParseError);
  server.write(nested(100'000));
  EXPECT_EQ(error_code(server.next()), kParseError);
  server.expect_nothing_before_a_ping();
}

TEST(RequestsTest, WhatIsNoMessageIsInvalidAndItsIdIsEchoedWhereItHasOne) {
  ScriptedServer server;
  const auto answer_to = [&](const std::string& line) {
    server.write(line + "\n");
    return server.next();
  };
  for (const auto* line : {"1", "\"x\"", "null", "true", "[]", "[1]", "{}",
                           R"({"jsonrpc":"2.0","method":"ping","id":null})",
                           R"({"jsonrpc":"2.0","method":"ping","id":1.5})"}) {
    const auto answer = answer_to(line);
    EXPECT_EQ(error_code(answer), kInvalidRequest) << line;
    EXPECT_FALSE(answer.contains("id")) << line;
  }
  const auto answer = answer_to(R"({"method":"ping","id":"a"})");
  EXPECT_EQ(error_code(answer), kInvalidRequest);
  EXPECT_EQ(answer["id"], "a");
  const auto params = answer_to(R"({"jsonrpc":"2.0","method":"ping","id":0,"params":[]})");
  EXPECT_EQ(error_code(params), kInvalidParams);
  EXPECT_EQ(params["id"], Json(0));
}

TEST(RequestsTest, IdsComeBackExactly) {
  ScriptedServer server;
  for (const std::string id : {"0", "\"\"", "-7", "\"0\"", "9007199254740993", R"("\u0000é\n")"}) {
    server.write(R"({"jsonrpc":"2.0","method":"ping","id":)" + id + "}\n");
    EXPECT_EQ(dump_json(server.next()["id"]), id);
  }
}

TEST(RequestsTest, LinesMayEndAsTheyDoElsewhereAndMayBeEmpty) {
  ScriptedServer server;
  server.write("\r\n\n\n");
  server.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n");
  EXPECT_TRUE(server.response(1).contains("result"));
  // Cut anywhere.
  for (const char byte : std::string("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"))
    server.write(std::string(1, byte));
  EXPECT_TRUE(server.response(2).contains("result"));
}

TEST(RequestsTest, TheLastLineNeedsNoEnd) {
  ScriptedServer server;
  server.write(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_THAT(answers_to(server.finish(), 1), SizeIs(1));
  EXPECT_TRUE(server.ending().has_value());
}

TEST(RequestsTest, ALineThatIsTooLargeIsRefusedAndTheNextOneServed) {
  ServerOptions options;
  options.limits.incoming_bytes = 200'000;
  ScriptedServer server(options);
  const auto line = [](std::size_t size) {
    const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":")";
    const std::string end = R"("}})";
    return begin + std::string(size - begin.size() - end.size(), 'x') + end + "\n";
  };
  server.write(line(200'000));
  EXPECT_TRUE(server.response(1).contains("result"));
  for (const std::size_t size : {200'001U, 1'000'000U}) {
    server.write(line(size));
    const auto answer = server.next();
    EXPECT_EQ(error_code(answer), kInvalidRequest) << size;
    EXPECT_FALSE(answer.contains("id"));
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("200000"));
    server.expect_nothing_before_a_ping();
  }
}

TEST(RequestsTest, AStreamThatEndsAtOnceIsNoFault) {
  ScriptedServer server;
  EXPECT_THAT(server.finish(), IsEmpty());
  EXPECT_TRUE(server.ending().has_value());
}

TEST(SubscriptionTest, IsAcknowledgedFirstHeldOpenAndAnsweredAtTheEnd) {
  ScriptedServer server;
  constexpr const char* kKey = "io.modelcontextprotocol/subscriptionId";
  server.request("s", "subscriptions/listen",
                 {{"_meta", stateless_meta()}, {"notifications", {{"toolsListChanged", true}}}});
  const auto acknowledged = server.next();
  EXPECT_EQ(acknowledged["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(acknowledged["params"]["_meta"][kKey], "s");
  EXPECT_EQ(acknowledged["params"]["notifications"], Json::object()) << "nothing ever changes";
  server.expect_nothing_before_a_ping();
  const auto last = server.finish();
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0]["id"], "s");
  EXPECT_EQ(last[0]["result"]["resultType"], "complete");
  EXPECT_EQ(last[0]["result"]["_meta"][kKey], "s");
}

TEST(SubscriptionTest, IsCancelledSilently) {
  ScriptedServer server;
  server.request(0, "subscriptions/listen",
                 {{"_meta", stateless_meta()}, {"notifications", Json::object()}});
  EXPECT_EQ(server.next()["method"], "notifications/subscriptions/acknowledged");
  server.cancel("0");
  server.request(0, "ping");
  EXPECT_EQ(error_code(server.response(0)), kInvalidRequest) << "still held";
  server.cancel(0);
  server.request(0, "ping");
  EXPECT_EQ(error_code(server.response(0)), 0) << "its id is free again";
  EXPECT_THAT(server.finish(), IsEmpty());
}

TEST(SubscriptionTest, SaysWhatItListensTo) {
  ScriptedServer server;
  for (const Json& params : {Json{{"_meta", stateless_meta()}},
                             Json{{"_meta", stateless_meta()}, {"notifications", true}}}) {
    server.request(1, "subscriptions/listen", params);
    EXPECT_EQ(error_code(server.response(1)), kInvalidParams);
  }
  EXPECT_THAT(server.finish(), IsEmpty());
}

}  // namespace
}  // namespace sshx::mcp
