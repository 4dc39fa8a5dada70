#include <gmock/gmock.h>

#include "mcp/message.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::error_code;
using test::ScriptedServer;
using test::ServerOptions;
using test::stateless_meta;
using testing::IsEmpty;
using testing::SizeIs;

Json call_of(const Json& id, const char* command) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "tools/call"},
          {"params", {{"name", "sshx_run"}, {"arguments", {{"command", command}}}}}};
}

Json ping_of(const Json& id) { return {{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}}; }

Json note_of(const char* method) { return {{"jsonrpc", "2.0"}, {"method", method}}; }

Json answer_in(const Json& batch, const Json& id) {
  const auto found = test::answers_to(batch.get<std::vector<Json>>(), id);
  EXPECT_THAT(found, SizeIs(1)) << dump_json(batch);
  return found.empty() ? Json() : found.front();
}

TEST(BatchTest, IsTakenInOneRevisionOnly) {
  for (const auto* date : {"2024-11-05", "2025-06-18", "2025-11-25"}) {
    ScriptedServer server;
    server.initialize(date);
    server.send(Json::array({ping_of(1)}));
    const auto answer = server.next();
    EXPECT_EQ(error_code(answer), kInvalidRequest) << date;
    EXPECT_FALSE(answer.contains("id"));
  }
  ScriptedServer server;
  server.send(Json::array({ping_of(1)}));
  EXPECT_EQ(error_code(server.next()), kInvalidRequest) << "before a handshake";
}

TEST(BatchTest, IsAnsweredInOneArrayWhenAllIsThere) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.behave("slow", "read line < \"$here/gate\"; answer true slow");
  server.behave("fast", "answer true fast");
  auto& gate = server.fifo("gate");
  server.send(Json::array({call_of(1, "slow"), call_of("1", "fast"), ping_of(2),
                           note_of("notifications/initialized"), 7, ping_of(nullptr)}));
  server.expect_nothing_before_a_ping();
  gate.write("go\n");
  const auto batch = server.next();
  ASSERT_THAT(batch, SizeIs(5));
  EXPECT_EQ(answer_in(batch, 1)["result"]["isError"], Json(false));
  EXPECT_EQ(answer_in(batch, "1")["result"]["isError"], Json(false));
  EXPECT_EQ(answer_in(batch, 2)["result"], Json::object());
  EXPECT_THAT(server.finish(), IsEmpty());
}

TEST(BatchTest, WhatWasCancelledIsMissingInIt) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.behave("stuck", "echo $$ > \"$here/started\"; exec sleep 1000");
  auto& started = server.fifo("started");
  server.send(Json::array({call_of(1, "stuck"), ping_of(2)}));
  (void)started.line();
  server.cancel(1);
  const auto batch = server.next();
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_EQ(batch[0]["id"], 2);
  server.send(Json::array({call_of(3, "stuck")}));
  (void)started.line();
  server.cancel(3);
  EXPECT_THAT(server.finish(), IsEmpty()) << "an array without answers is none";
}

TEST(BatchTest, OfNotificationsIsNotAnswered) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.send(Json::array({note_of("notifications/initialized"), note_of("no/such"),
                           Json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", Json::object()}}}));
  server.expect_nothing_before_a_ping();
}

TEST(BatchTest, MustHoldSomething) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.send(Json::array());
  const auto answer = server.next();
  EXPECT_EQ(error_code(answer), kInvalidRequest);
  EXPECT_FALSE(answer.contains("id"));
}

TEST(BatchTest, ABatchInABatchIsNoMessage) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.send(Json::array({Json::array({ping_of(1)})}));
  const auto batch = server.next();
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_EQ(error_code(batch[0]), kInvalidRequest);
}

TEST(BatchTest, ADuplicateIdIsRefusedInPlace) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.behave("fast", "answer true fast");
  server.send(Json::array({call_of(1, "fast"), call_of(1, "fast")}));
  const auto batch = server.next();
  ASSERT_THAT(batch, SizeIs(2));
  EXPECT_EQ(error_code(batch[0]) + error_code(batch[1]), kInvalidRequest) << dump_json(batch);
}

TEST(BatchTest, AHandshakeAndWhatKnowsNoBatchesIsRefusedInPlace) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  const Json shake = {{"jsonrpc", "2.0"},
                      {"id", 1},
                      {"method", "initialize"},
                      {"params", {{"protocolVersion", "2025-11-25"}}}};
  const Json listen = {
      {"jsonrpc", "2.0"},
      {"id", 2},
      {"method", "subscriptions/listen"},
      {"params", {{"_meta", stateless_meta()}, {"notifications", Json::object()}}}};
  server.send(Json::array({shake, listen, ping_of(3)}));
  const auto batch = server.next();
  ASSERT_THAT(batch, SizeIs(3));
  EXPECT_EQ(error_code(answer_in(batch, 1)), kInvalidRequest);
  EXPECT_EQ(error_code(answer_in(batch, 2)), kInvalidRequest);
  EXPECT_EQ(error_code(answer_in(batch, 3)), 0);
  server.send(Json::array({ping_of(4)}));
  EXPECT_THAT(server.next(), SizeIs(1)) << "the revision that was agreed on still holds";
}

TEST(BatchTest, AsAWholeFitsIntoAMessage) {
  ServerOptions options;
  options.limits.outgoing_bytes = 8000;
  ScriptedServer server(options);
  server.initialize("2025-03-26");
  server.behave("large", "answer true \"$(printf %02000d 0)\"");
  Json calls = Json::array();
  for (int id = 0; id < 4; ++id) calls.push_back(call_of(id, "large"));
  server.send(calls);
  const auto batch = server.next();
  EXPECT_LE(dump_json(batch).size(), 8000U + 4 * 2000);
  int oversized = 0;
  for (const auto& answer : batch) {
    const auto text = answer["result"]["content"][0]["text"].get<std::string>();
    if (text.find("too_large") != std::string::npos) ++oversized;
  }
  EXPECT_EQ(oversized, 1) << "three of 2000 bytes fit";
}

TEST(BatchTest, HasALimitOfMessages) {
  ScriptedServer server;
  server.initialize("2025-03-26");
  server.send(Json(std::vector<int>(1001, 0)));
  EXPECT_EQ(error_code(server.next()), kInvalidRequest);
  server.send(Json(std::vector<int>(1000, 0)));
  EXPECT_THAT(server.next(), SizeIs(1000));
}

}  // namespace
}  // namespace sshx::mcp
