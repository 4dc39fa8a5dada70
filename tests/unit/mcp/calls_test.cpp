#include <gmock/gmock.h>

#include <csignal>
#include <set>

#include "core/text.h"
#include "mcp/message.h"
#include "unit/loop/scratch.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::error_code;
using test::ScriptedServer;
using test::ServerOptions;
using test::stateless_meta;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A server after its handshake.
class CallsTest : public testing::Test {
 protected:
  CallsTest() { server_.initialize(); }

  ScriptedServer server_;
};

TEST_F(CallsTest, TheDocumentComesVerbatimInBothForms) {
  const std::string document =
      R"({"z":1,"schema_version":"sshx.result.v1","a":{"n":null,"big":9007199254740993},"s":"é\u0000\""})";
  sshx::test::write_file(server_.file("document"), document + "\n");
  server_.behave("x", "cat \"$here/document\"");
  server_.call(1, "x");
  const auto result = server_.response(1)["result"];
  EXPECT_EQ(dump_json(result["structuredContent"]), document);
  EXPECT_EQ(result["content"][0]["text"], document);
  EXPECT_EQ(result["isError"], Json(false));
}

TEST_F(CallsTest, AFailedChildIsAnErrorWithTheSameDocument) {
  server_.behave("x", "answer false x; exit 255");
  server_.call(1, "x");
  const auto result = server_.response(1)["result"];
  EXPECT_EQ(result["isError"], Json(true));
  EXPECT_EQ(result["structuredContent"]["schema_version"], "sshx.result.v1");
  EXPECT_EQ(result["structuredContent"]["said"], "x");
}

TEST_F(CallsTest, AChildThatASignalEndedAfterItsAnswerIsAnError) {
  server_.behave("x", "answer true x; kill -KILL $$");
  server_.call(1, "x");
  const auto result = server_.response(1)["result"];
  EXPECT_EQ(result["isError"], Json(true));
  EXPECT_EQ(result["structuredContent"]["said"], "x");
}

TEST_F(CallsTest, TheRequestIsOnStdinAndNowhereElse) {
  server_.behave("argv", R"(
      tr '\0' '\n' < /proc/$$/cmdline > "$here/cmdline"
      tr '\0' '\n' < /proc/$$/environ > "$here/environ"
      printf '%s' "$request" > "$here/request"
      answer true x)");
  const Json arguments = {{"command", "argv"},
                          {"targets", Json::array({"-oProxyCommand=touch canary", "--force"})},
                          {"cwd", "a\nb$(id)`id`;'\"\\ canary"},
                          {"stdin", std::string("canary\0\x7f", 8)},
                          {"--read-only", "canary"}};
  server_.request(1, "tools/call", {{"name", "sshx_run"}, {"arguments", arguments}});
  (void)server_.document(1);
  const auto command_line = sshx::test::read_text(server_.file("cmdline"));
  EXPECT_THAT(command_line, Not(HasSubstr("canary")));
  EXPECT_THAT(command_line, Not(HasSubstr("force")));
  EXPECT_THAT(command_line, HasSubstr("\nrun\n--request=-\n--surface=mcp\n--json"));
  const auto environment = sshx::test::read_text(server_.file("environ"));
  EXPECT_THAT(environment, Not(HasSubstr("canary")));
  EXPECT_THAT(environment, HasSubstr("SSHX_ENTRY=mcp\n"));
  EXPECT_EQ(sshx::test::read_text(server_.file("request")), dump_json(arguments));
}

TEST_F(CallsTest, WithoutArgumentsTheRequestIsEmpty) {
  server_.behave("{}", "answer true \"$#\"");
  server_.request(1, "tools/call", {{"name", "sshx_run"}});
  // The script takes what it is to do from the request, which holds no command.
  EXPECT_EQ(server_.document(1)["said"].is_string(), true);
}

TEST(CallOptionsTest, AreJoinedToTheirValuesAndGivenToThoseWhoTakeThem) {
  ServerOptions options;
  options.child_options = {{"audit", "--audit=required"},
                           {"quiet", "--quiet"},
                           {"no_such_option", "--no-such-option=x"}};
  ScriptedServer server(options);
  server.initialize();
  server.behave("argv", "for a in \"$@\"; do printf '<%s>' \"$a\"; done > \"$here/argv\"; "
                        "answer true x");
  server.call(1, "argv");
  (void)server.document(1);
  auto argv = sshx::test::read_text(server.file("argv"));
  EXPECT_THAT(argv, HasSubstr("<--audit=required>"));
  EXPECT_THAT(argv, HasSubstr("<--quiet>"));
  EXPECT_THAT(argv, Not(HasSubstr("no-such")));
  EXPECT_THAT(argv, HasSubstr("<--die-with-parent>"));
  server.call(2, "argv", nullptr, "sshx_host_list");
  (void)server.document(2);
  argv = sshx::test::read_text(server.file("argv"));
  EXPECT_THAT(argv, testing::StartsWith("<host><list><--request=-><--surface=mcp><--json>"));
  EXPECT_THAT(argv, Not(HasSubstr("audit"))) << "an operation that keeps no evidence";
  EXPECT_THAT(argv, Not(HasSubstr("die-with")));
}

TEST_F(CallsTest, AFastCallIsAnsweredBeforeASlowOne) {
  server_.behave("slow", "read line < \"$here/gate\"; answer true slow");
  server_.behave("fast", "answer true fast");
  auto& gate = server_.fifo("gate");
  server_.call("slow", "slow");
  server_.call("fast", "fast");
  EXPECT_EQ(server_.document("fast")["said"], "fast");
  server_.expect_nothing_before_a_ping();
  server_.request(1, "tools/list");
  EXPECT_TRUE(server_.response(1).contains("result"));
  gate.write("go\n");
  EXPECT_EQ(server_.document("slow")["said"], "slow");
}

TEST_F(CallsTest, AHundredCallsAtOnceEachGetTheirOwnAnswer) {
  server_.behave("own", "own=${request#*'\"cwd\":\"'}; answer true \"${own%%'\"'*}\"");
  for (int id = 0; id < 100; ++id) {
    server_.request(
        id, "tools/call",
        {{"name", "sshx_run"}, {"arguments", {{"command", "own"}, {"cwd", std::to_string(id)}}}});
  }
  std::set<int> answered;
  while (answered.size() < 100) {
    const auto response = server_.next();
    if (!response.is_object() || !response.contains("result")) break;
    const auto id = response["id"].get<int>();
    EXPECT_EQ(response["result"]["structuredContent"]["said"], std::to_string(id));
    EXPECT_TRUE(answered.insert(id).second) << id;
  }
  EXPECT_THAT(answered, SizeIs(100));
  EXPECT_THAT(server_.finish(), IsEmpty());
}

TEST(CallLimitTest, OneCallMoreThanTheLimitIsBusyAndNothingRan) {
  ServerOptions options;
  options.limits.calls = 2;
  ScriptedServer server(options);
  server.initialize();
  server.behave("slow-1", "read line < \"$here/gate-1\"; answer true slow");
  server.behave("slow-2", "read line < \"$here/gate-2\"; answer true slow");
  auto& first = server.fifo("gate-1");
  auto& second = server.fifo("gate-2");
  server.call(1, "slow-1");
  server.call(2, "slow-2");
  server.call(3, "slow-1");
  const auto busy = server.document(3);
  EXPECT_EQ(busy["schema_version"], "sshx.adapter.v1");
  EXPECT_EQ(busy["error"]["code"], "busy");
  EXPECT_EQ(busy["executed"], Json(false));
  EXPECT_EQ(busy["error"]["retry_safety"], "safe");
  first.write("go\n");
  EXPECT_EQ(server.document(1)["said"], "slow");
  server.behave("fast", "answer true fast");
  server.call(4, "fast");
  EXPECT_EQ(server.document(4)["said"], "fast") << "there is room again";
  second.write("go\n");
  EXPECT_EQ(server.document(2)["said"], "slow");
}

TEST_F(CallsTest, AnIdThatIsUnderWayIsRefusedAndItsCallGoesOn) {
  server_.behave("slow", "read line < \"$here/gate\"; answer true slow");
  server_.behave("fast", "answer true fast");
  auto& gate = server_.fifo("gate");
  server_.call(1, "slow");
  server_.call(1, "fast");
  EXPECT_EQ(error_code(server_.response(1)), kInvalidRequest);
  server_.request(1, "ping");
  EXPECT_EQ(error_code(server_.response(1)), kInvalidRequest);
  server_.call("1", "fast");
  EXPECT_EQ(server_.document("1")["said"], "fast") << "another id";
  gate.write("go\n");
  EXPECT_EQ(server_.document(1)["said"], "slow");
  server_.call(1, "fast");
  EXPECT_EQ(server_.document(1)["said"], "fast") << "once answered it is free";
}

TEST_F(CallsTest, ACancelledCallIsNeverAnsweredAndItsGroupIsGone) {
  server_.behave("stuck",
                 "sleep 1000 & echo $! > \"$here/started\"; echo $$ > \"$here/started\"; wait");
  auto& started = server_.fifo("started");
  server_.call(1, "stuck", Json{{"progressToken", "t"}});
  const auto grandchild = started.pid();
  const auto child = started.pid();
  server_.cancel(1);
  EXPECT_TRUE(test::ends(child));
  EXPECT_TRUE(test::ends(grandchild));
  EXPECT_THAT(server_.finish(), IsEmpty()) << "no answer, no progress";
}

TEST(CancellationGraceTest, WhatIgnoresSigtermIsKilledWithItsGroup) {
  ServerOptions options;
  options.limits.grace_seconds = 0.05;
  options.limits.heartbeat_seconds = 0.01;
  ScriptedServer server(options);
  server.initialize();
  server.behave("deaf", R"(
      trap '' TERM
      (trap '' TERM; exec sleep 1000) & echo $! > "$here/started"
      echo $$ > "$here/started"; wait)");
  auto& started = server.fifo("started");
  server.call(0, "deaf");
  const auto grandchild = started.pid();
  const auto child = started.pid();
  server.cancel(0);
  EXPECT_TRUE(test::ends(child));
  EXPECT_TRUE(test::ends(grandchild));
  EXPECT_THAT(server.finish(), IsEmpty());
}

TEST_F(CallsTest, AChildMayUseTheGraceToEndInOrder) {
  server_.behave(
      "orderly",
      "trap 'echo asked > \"$here/asked\"; read line < \"$here/gate\"; echo done > "
      "\"$here/asked\"; answer false x; exit 1' TERM; echo $$ > \"$here/started\"; while "
      ":; do read line < \"$here/never\"; done");
  auto& started = server_.fifo("started");
  auto& asked = server_.fifo("asked");
  auto& gate = server_.fifo("gate");
  (void)server_.fifo("never");
  server_.call(1, "orderly");
  const auto child = started.pid();
  server_.cancel(1);
  EXPECT_EQ(asked.line(), "asked");
  gate.write("go\n");
  EXPECT_EQ(asked.line(), "done");
  EXPECT_TRUE(test::ends(child));
  EXPECT_THAT(server_.finish(), IsEmpty());
}

TEST_F(CallsTest, ACallThatIsCancelledWithItsRequestIsNotAnswered) {
  server_.behave("x", "answer true x; exec sleep 1000");
  // In one write, so that each is cancelled in the moment of its start.
  std::string lines;
  for (int id = 0; id < 20; ++id) {
    lines += R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
             R"(,"method":"tools/call","params":{"name":"sshx_run","arguments":{"command":"x"}}})"
             "\n"
             R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
             std::to_string(id) + "}}\n";
  }
  server_.write(lines);
  EXPECT_THAT(server_.finish(), IsEmpty());
}

TEST_F(CallsTest, CancelsOfOtherIdsAreIgnored) {
  server_.behave("slow", "read line < \"$here/gate\"; answer true slow");
  auto& gate = server_.fifo("gate");
  server_.call(1, "slow");
  for (const Json& other : {Json("1"), Json(2), Json(-1), Json(1.0), Json(nullptr), Json(true),
                            Json::array({1}), Json("handshake")}) {
    server_.cancel(other);
  }
  server_.expect_nothing_before_a_ping();
  gate.write("go\n");
  EXPECT_EQ(server_.document(1)["said"], "slow");
  server_.cancel(1);
  server_.cancel(1);
  server_.expect_nothing_before_a_ping();
}

TEST_F(CallsTest, ATextIdIsCancelledByTheSameText) {
  server_.behave("stuck", "echo $$ > \"$here/started\"; exec sleep 1000");
  auto& started = server_.fifo("started");
  server_.call("1", "stuck");
  const auto child = started.pid();
  server_.cancel(1);
  server_.expect_nothing_before_a_ping();
  server_.call("1", "stuck");
  EXPECT_EQ(error_code(server_.response("1")), kInvalidRequest) << "still under way";
  server_.cancel("1");
  EXPECT_TRUE(test::ends(child));
  EXPECT_THAT(server_.finish(), IsEmpty());
}

TEST_F(CallsTest, AHandshakeCannotBeCancelled) {
  server_.cancel("again");
  server_.request("again", "initialize", {{"protocolVersion", "2025-11-25"}});
  server_.cancel("again");
  EXPECT_TRUE(server_.response("again").contains("result"));
}

TEST_F(CallsTest, AStatelessCallHasItsRevisionsFields) {
  server_.behave("x", "answer true x");
  server_.call(1, "x", stateless_meta());
  const auto result = server_.response(1)["result"];
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_TRUE(result["_meta"].contains("io.modelcontextprotocol/serverInfo"));
  EXPECT_EQ(result["structuredContent"]["said"], "x");
}

}  // namespace
}  // namespace sshx::mcp
