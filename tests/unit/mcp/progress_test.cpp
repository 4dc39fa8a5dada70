#include <gmock/gmock.h>

#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::ScriptedServer;
using test::ServerOptions;
using test::stateless_meta;
using testing::IsEmpty;

// The tool of these tests answers with one document, so that progress is beats alone.
constexpr const char* kTool = "sshx_host_list";

constexpr const char* kSlow = "read line < \"$here/gate\"; answer true slow";

ServerOptions with_beats() {
  ServerOptions options;
  options.limits.heartbeat_seconds = 0.01;
  return options;
}

Json token_of(const Json& token) { return {{"progressToken", token}}; }

/// Reads `count` notes, which must be of this token, and grow.
void expect_notes(ScriptedServer& server, const Json& token, int count) {
  double last = 0;
  for (int i = 0; i < count; ++i) {
    const auto note = server.next();
    ASSERT_EQ(note["method"], "notifications/progress") << dump_json(note);
    EXPECT_EQ(dump_json(note["params"]["progressToken"]), dump_json(token));
    ASSERT_TRUE(note["params"]["progress"].is_number());
    EXPECT_GT(note["params"]["progress"].get<double>(), last);
    last = note["params"]["progress"].get<double>();
  }
}

TEST(ProgressTest, ACallWithATokenBeats) {
  ScriptedServer server(with_beats());
  server.initialize();
  server.behave("slow", kSlow);
  auto& gate = server.fifo("gate");
  for (const Json& token :
       {Json("t"), Json(0), Json(""), Json(-1), Json("0"), Json(9007199254740993)}) {
    server.call(1, "slow", token_of(token), kTool);
    expect_notes(server, token, 3);
    gate.write("go\n");
    EXPECT_EQ(server.document(1)["said"], "slow");
    server.expect_nothing_before_a_ping();
  }
}

TEST(ProgressTest, SaysWhatRuns) {
  ScriptedServer server(with_beats());
  server.initialize("2025-03-26");
  server.behave("slow", kSlow);
  auto& gate = server.fifo("gate");
  server.call(1, "slow", token_of(1), kTool);
  const auto note = server.next();
  EXPECT_THAT(note["params"]["message"].get<std::string>(), testing::HasSubstr("running for"));
  EXPECT_FALSE(note["params"].contains("total")) << "nobody knows it";
  gate.write("go\n");
  EXPECT_TRUE(server.response(1).contains("result"));
}

TEST(ProgressTest, TheOldestRevisionKnowsNoMessage) {
  ScriptedServer server(with_beats());
  server.initialize("2024-11-05");
  server.behave("slow", kSlow);
  auto& gate = server.fifo("gate");
  server.call(1, "slow", token_of("t"), kTool);
  EXPECT_FALSE(server.next()["params"].contains("message"));
  gate.write("go\n");
  EXPECT_TRUE(server.response(1).contains("result"));
}

TEST(ProgressTest, AStatelessCallBeatsToo) {
  ScriptedServer server(with_beats());
  server.behave("slow", kSlow);
  auto& gate = server.fifo("gate");
  auto meta = stateless_meta();
  meta["progressToken"] = "t";
  server.call(1, "slow", meta, kTool);
  expect_notes(server, "t", 2);
  gate.write("go\n");
  EXPECT_EQ(server.response(1)["result"]["resultType"], "complete");
}

TEST(ProgressTest, WithoutATokenThereIsNone) {
  auto options = with_beats();
  options.limits.heartbeat_seconds = 0.001;
  ScriptedServer server(options);
  server.initialize();
  server.behave("slow", kSlow);
  server.behave("beating",
                "echo $$ > \"$here/started\"; read line < \"$here/other\"; answer true x");
  auto& gate = server.fifo("gate");
  auto& other = server.fifo("other");
  (void)server.fifo("started");
  int id = 0;
  for (const Json& meta : {Json(nullptr), Json::object(), token_of(nullptr), token_of(1.5),
                           token_of(true), token_of(Json::object()), token_of(Json::array())}) {
    server.call(++id, "slow", meta, kTool);
    // Another call beats meanwhile, so that there was time for it.
    server.call("beating", "beating", token_of("other"), kTool);
    expect_notes(server, "other", 5);
    gate.write("go\n");
    EXPECT_TRUE(server.response(id).contains("result"));
    other.write("go\n");
    EXPECT_TRUE(server.response("beating").contains("result"));
    for (const auto& note : server.notes()) EXPECT_EQ(note["params"]["progressToken"], "other");
  }
}

TEST(ProgressTest, NoNoteFollowsTheResponse) {
  auto options = with_beats();
  options.limits.heartbeat_seconds = 0.001;
  ScriptedServer server(options);
  server.initialize();
  server.behave("slow", kSlow);
  server.behave("fast", "answer true fast");
  auto& gate = server.fifo("gate");
  for (int id = 0; id < 20; ++id) {
    server.call(id, "slow", token_of(id), kTool);
    expect_notes(server, id, 1);
    gate.write("go\n");
    EXPECT_TRUE(server.response(id).contains("result"));
    // Long enough for a note that is late.
    server.call("next", "fast");
    EXPECT_EQ(server.next()["id"], "next");
  }
}

/// Clients handle a response before a note that came just ahead of it. Here the pause between them
/// is longer than the test, so that the call is still seen waiting when its child is gone.
TEST(ProgressTest, AResponseWaitsForANoteToSettleAndCanStillBeCancelled) {
  auto options = with_beats();
  options.limits.settle_seconds = 600;
  ScriptedServer server(options);
  server.initialize();
  server.behave("slow",
                "echo $$ > \"$here/started\"; read line < \"$here/gate\"; answer true slow");
  server.behave("fast", "answer true fast");
  auto& started = server.fifo("started");
  auto& gate = server.fifo("gate");
  server.call(1, "slow", token_of("t"), kTool);
  const auto child = started.pid();
  expect_notes(server, "t", 1);
  gate.write("go\n");
  EXPECT_TRUE(test::ends(child));
  server.call(2, "fast");
  EXPECT_EQ(server.document(2)["said"], "fast") << "a call without notes does not wait";
  server.request(1, "ping");
  EXPECT_TRUE(server.response(1).contains("error")) << "the call is still under way";
  server.cancel(1);
  for (const auto& message : server.finish()) EXPECT_FALSE(message.contains("id"));
}

TEST(ProgressTest, NoNoteFollowsACancellation) {
  auto options = with_beats();
  options.limits.heartbeat_seconds = 0.001;
  ScriptedServer server(options);
  server.initialize();
  // It takes its time to end, in which it would beat.
  server.behave("slow", "trap 'echo asked > \"$here/asked\"; read line < \"$here/gate\"; exit 1' "
                        "TERM; echo $$ > \"$here/started\"; while :; do read line < "
                        "\"$here/never\"; done");
  auto& asked = server.fifo("asked");
  auto& gate = server.fifo("gate");
  (void)server.fifo("never");
  auto& started = server.fifo("started");
  server.behave("beating", "read line < \"$here/other\"; answer true x");
  auto& other = server.fifo("other");
  server.call(1, "slow", token_of("cancelled"), kTool);
  (void)started.line();
  server.cancel(1);
  EXPECT_EQ(asked.line(), "asked");
  server.call(2, "beating", token_of("other"), kTool);
  const auto is_other = [](const Json& message) {
    return message["params"]["progressToken"] == "other";
  };
  // What was on its way when the client cancelled comes first.
  auto note = server.next();
  while (!is_other(note)) note = server.next();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_other(server.next()));
  gate.write("go\n");
  other.write("go\n");
  EXPECT_TRUE(server.response(2).contains("result"));
  EXPECT_THAT(server.finish(), IsEmpty());
}

TEST(ProgressTest, NotesAreDroppedRatherThanQueuedWithoutBound) {
  auto options = with_beats();
  options.limits.queued_notes = 3;
  options.limits.heartbeat_seconds = 0.001;
  ScriptedServer server(options);
  server.initialize();
  server.behave("large", "answer true \"$(yes | head -c 300000 | tr -d '\\n')\"");
  // Counts the beats that there were: one is due each time that it wakes the loop.
  server.behave("noisy",
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo x >&2; "
                "sleep 0.01; done; echo $$ > \"$here/beaten\"; read line < \"$here/gate\"; "
                "answer true noisy");
  auto& beaten = server.fifo("beaten");
  auto& gate = server.fifo("gate");
  // The response fills the pipe: notes queue up behind it.
  server.call("large", "large");
  server.wait_for_output();
  server.call(1, "noisy", token_of("t"), kTool);
  (void)beaten.line();
  double last = 0;
  // Those that were dropped left a gap.
  bool gap = false;
  for (int i = 0; i < 40 && !gap; ++i) {
    const auto message = server.next();
    if (message.contains("id")) continue;
    const auto value = message["params"]["progress"].get<double>();
    EXPECT_GT(value, last);
    gap = last > 0 && value > last + 1;
    last = value;
  }
  EXPECT_TRUE(gap);
  gate.write("go\n");
  EXPECT_EQ(server.document(1)["said"], "noisy");
}

}  // namespace
}  // namespace sshx::mcp
