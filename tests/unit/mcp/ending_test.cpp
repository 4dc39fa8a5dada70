#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "unit/loop/scratch.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::answers_to;
using test::ScriptedServer;
using test::ServerOptions;
using testing::IsEmpty;
using testing::SizeIs;

/// A child that ends in order when it is asked to, and tells when.
constexpr const char* kOrderly = R"(
    trap 'echo asked > "$here/asked"; read line < "$here/gate"; answer false ended; exit 1' TERM
    echo $$ > "$here/started"
    while :; do read line < "$here/never"; done)";

/// A session with one call, 1, whose child is an orderly one.
struct OrderlyCall {
  explicit OrderlyCall(const ServerOptions& options = {}) : server(options) {
    server.initialize();
    server.behave("orderly", kOrderly);
    (void)server.fifo("never");
    server.call(1, "orderly");
    child = started.pid();
  }

  ScriptedServer server;
  test::Fifo& started = server.fifo("started");
  test::Fifo& asked = server.fifo("asked");
  test::Fifo& gate = server.fifo("gate");
  pid_t child = 0;
};

/// Asks its children to end as soon as the stream has.
ServerOptions without_drain() {
  ServerOptions options;
  options.limits.drain_seconds = 0.05;
  return options;
}

Json document_in(const std::vector<Json>& messages, const Json& id) {
  const auto found = answers_to(messages, id);
  EXPECT_THAT(found, SizeIs(1));
  return found.empty() ? Json() : found.front()["result"]["structuredContent"];
}

std::vector<int> descriptors() {
  std::vector<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    numbers.push_back(std::stoi(entry.path().filename().string()));
  return numbers;
}

/// Waits until this process has no more descriptors than before; fails the test if it never has.
void expect_descriptors(std::size_t before) {
  const auto guard = after(sshx::test::kGuardSeconds);
  // Threads that are left behind close theirs when their last system call returns.
  while (descriptors().size() > before && !passed(guard)) std::this_thread::yield();
  EXPECT_LE(descriptors().size(), before);
}

void expect_no_children() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(EndOfStreamTest, CallsUnderWayAreAnswered) {
  ScriptedServer server;
  server.initialize();
  server.behave("slow",
                "echo $$ > \"$here/started\"; read line < \"$here/gate\"; answer true slow");
  auto& started = server.fifo("started");
  auto& gate = server.fifo("gate");
  server.call(1, "slow");
  server.call(2, "slow");
  (void)started.line();
  (void)started.line();
  server.close_input();
  gate.write("go\n");
  EXPECT_EQ(server.next()["result"]["structuredContent"]["said"], "slow");
  gate.write("go\n");
  EXPECT_EQ(server.next()["result"]["structuredContent"]["said"], "slow");
  EXPECT_THAT(server.rest(), IsEmpty());
  EXPECT_TRUE(server.ending().has_value());
  expect_no_children();
}

TEST(EndOfStreamTest, ACallWithoutAnEndOfItsLineIsServed) {
  ScriptedServer server;
  server.behave("x", "answer true x");
  server.write(R"({"jsonrpc":"2.0","id":0,"method":"initialize",)"
               R"("params":{"protocolVersion":"2025-11-25"}})"
               "\n"
               R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
               R"("params":{"name":"sshx_run","arguments":{"command":"x"}}})");
  const auto messages = server.finish();
  EXPECT_EQ(document_in(messages, 1)["said"], "x");
}

TEST(EndOfStreamTest, WhatIsSlowerThanTheDrainIsEndedAndSaysHowItEnded) {
  OrderlyCall call(without_drain());
  auto& server = call.server;
  server.close_input();
  EXPECT_EQ(call.asked.line(), "asked");
  call.gate.write("go\n");
  const auto messages = server.rest();
  EXPECT_EQ(document_in(messages, 1)["said"], "ended");
  EXPECT_EQ(answers_to(messages, 1)[0]["result"]["isError"], Json(true));
  EXPECT_TRUE(server.ending().has_value());
  expect_no_children();
}

/// Official clients close the stream, wait 2 s and then send SIGTERM: the first signal of theirs
/// must not cut short what the end of the stream began.
TEST(EndOfStreamTest, AFirstSignalDuringTheOrderlyEndDoesNotKill) {
  OrderlyCall call(without_drain());
  auto& server = call.server;
  server.close_input();
  EXPECT_EQ(call.asked.line(), "asked");
  server.signal();
  server.settle();
  call.gate.write("go\n");
  EXPECT_EQ(document_in(server.rest(), 1)["said"], "ended");
}

TEST(EndOfStreamTest, NothingIsLeftBehind) {
  const auto before = descriptors().size();
  for (int round = 0; round < 3; ++round) {
    ServerOptions options;
    options.limits.grace_seconds = 0.05;
    ScriptedServer server(options);
    server.initialize();
    server.behave("fast", "answer true fast");
    server.behave("deaf", "trap '' TERM; echo $$ > \"$here/started\"; sleep 1000");
    auto& started = server.fifo("started");
    for (int id = 0; id < 5; ++id) server.call(id, "fast");
    server.call("cancelled", "deaf");
    (void)started.line();
    server.cancel("cancelled");
    EXPECT_THAT(server.finish(), SizeIs(5));
    EXPECT_TRUE(server.ending().has_value());
    expect_no_children();
  }
  expect_descriptors(before);
}

TEST(SignalTest, EndsWhatRunsAndItsAnswersStillCome) {
  OrderlyCall call;
  auto& server = call.server;
  server.signal();
  EXPECT_EQ(call.asked.line(), "asked");
  call.gate.write("go\n");
  EXPECT_EQ(document_in(server.rest(), 1)["said"], "ended");
  EXPECT_TRUE(server.ending().has_value());
  expect_no_children();
}

TEST(SignalTest, ASecondOneEndsItWithoutGrace) {
  OrderlyCall call;
  auto& server = call.server;
  server.signal();
  EXPECT_EQ(call.asked.line(), "asked");
  server.signal();
  EXPECT_TRUE(test::ends(call.child));
  const auto document = document_in(server.rest(), 1);
  EXPECT_EQ(document["error"]["code"], "no_document");
  EXPECT_EQ(document["child"]["signal"], SIGKILL);
  expect_no_children();
}

TEST(SignalTest, WithNothingUnderWayTheSessionEnds) {
  ScriptedServer server;
  server.initialize();
  server.signal();
  EXPECT_THAT(server.rest(), IsEmpty());
  EXPECT_TRUE(server.ending().has_value());
}

TEST(SignalTest, ALineThatIsNotWholeIsNotServed) {
  ScriptedServer server;
  server.initialize();
  server.behave("x", "echo ran > \"$here/ran\"; answer true x");
  // One write, so that whoever answers the ping has the other line as well.
  server.write(R"({"jsonrpc":"2.0","id":0,"method":"ping"})"
               "\n"
               R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
               R"("params":{"name":"sshx_run","arguments":{"command":"x"}}})");
  EXPECT_TRUE(server.response(0).contains("result"));
  server.signal();
  EXPECT_THAT(server.rest(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(server.file("ran")));
}

/// A pipe takes 64 KiB; what is beyond that waits for a client that does not read.
constexpr const char* kLarge =
    "echo $$ > \"$here/started\"; answer true \"$(yes | head -c 300000 | tr -d '\\n')\"";

TEST(StallTest, AClientThatTakesNoResponseIsGivenUp) {
  ServerOptions options;
  options.limits.stall_seconds = 0.1;
  ScriptedServer server(options);
  server.initialize();
  server.behave("large", kLarge);
  server.behave("stuck", "echo $$ > \"$here/started\"; exec sleep 1000");
  auto& started = server.fifo("started");
  server.call(1, "stuck");
  const auto stuck = started.pid();
  server.call(2, "large");
  const auto ending = server.ending();
  ASSERT_FALSE(ending.has_value());
  EXPECT_EQ(sshx::test::outcome_of(Result<int>(ending.error())), "adapter/stalled");
  EXPECT_TRUE(test::ends(stuck));
  expect_no_children();
}

// A client that is busy for a moment must not lose its session for a note.
TEST(StallTest, AClientThatTakesNoNoteLosesTheNoteAlone) {
  ServerOptions options;
  options.limits.note_seconds = 0.001;
  options.limits.heartbeat_seconds = 0.001;
  ScriptedServer server(options);
  server.initialize();
  // It beats on once the pipe is full: each word on stderr wakes the session.
  server.behave("noisy",
                "read line < \"$here/full\"; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x >&2; "
                "sleep 0.01; done; echo $$ > \"$here/beaten\"; read line < \"$here/gate\"; "
                "answer true noisy");
  auto& full = server.fifo("full");
  auto& beaten = server.fifo("beaten");
  auto& gate = server.fifo("gate");
  // A page of a pipe holds one of its notes, and a pipe has sixteen.
  constexpr std::size_t kToken = 3000;
  server.call(1, "noisy", Json{{"progressToken", std::string(kToken, 't')}}, "sshx_host_list");
  server.wait_for_output(15 * kToken);
  full.write("go\n");
  (void)beaten.line();
  gate.write("go\n");
  EXPECT_EQ(server.document(1)["said"], "noisy");
  EXPECT_THAT(server.finish(), IsEmpty());
  EXPECT_TRUE(server.ending().has_value());
}

TEST(StallTest, AClientThatReadsSlowlyLosesNoResponse) {
  ScriptedServer server;
  server.initialize();
  server.behave("large", kLarge);
  auto& started = server.fifo("started");
  for (int id = 0; id < 4; ++id) server.call(id, "large");
  for (int id = 0; id < 4; ++id) (void)started.line();
  EXPECT_THAT(server.finish(), SizeIs(4));
  EXPECT_TRUE(server.ending().has_value());
}

TEST(StallTest, AClientThatClosedItsEndEndsTheSession) {
  ScriptedServer server;
  server.initialize();
  server.behave("stuck", "echo $$ > \"$here/started\"; exec sleep 1000");
  auto& started = server.fifo("started");
  server.call(1, "stuck");
  const auto stuck = started.pid();
  server.close_output();
  server.request(2, "ping");
  EXPECT_TRUE(server.ending().has_value()) << "that is a client's right";
  EXPECT_TRUE(test::ends(stuck));
  expect_no_children();
}

}  // namespace
}  // namespace sshx::mcp
