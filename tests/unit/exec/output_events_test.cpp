#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "core/sha256.h"
#include "exec/output_capture.h"
#include "exec/output_events.h"
#include "unit/exec/kept_events.h"
#include "unit/exec/samples.h"
#include "unit/exec/schema_check.h"

namespace sshx::exec {
namespace {

using ssh::OutputStream;
using test::KeptEvents;
using test::planned;
using testing::ElementsAre;

constexpr auto kOut = OutputStream::standard_output;
constexpr auto kErr = OutputStream::standard_error;
constexpr std::size_t kLimit = 1024UL * 1024;

/// The events of a target that prints these pieces on its stdout, each checked.
std::vector<Json> told(const std::vector<std::string>& pieces) {
  KeptEvents kept;
  EventStream events(kept.sink(true), "run", Clock::now());
  OutputCapture capture(kLimit);
  const auto target = planned();
  OutputEvents output(capture, events, target);
  for (const auto& piece : pieces) output.receive(kOut, piece);
  output.finish();
  auto taken = kept.take();
  for (const auto& event : taken) test::expect_valid(event);
  return taken;
}

std::vector<std::string> data_of(const std::vector<Json>& events) {
  std::vector<std::string> data;
  for (const auto& event : events) data.push_back(event["data"]);
  return data;
}

TEST(OutputEventsTest, EachPieceSaysWhoseItIsAndWhereItStands) {
  KeptEvents kept;
  EventStream events(kept.sink(true), "run", Clock::now());
  OutputCapture capture(kLimit);
  const auto target = planned();
  OutputEvents output(capture, events, target);
  output.receive(kOut, "one\n");
  output.receive(kErr, "bad\n");
  output.receive(kOut, "two\n");
  const auto taken = kept.take();
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0]["name"], target.target.name());
  EXPECT_EQ(taken[0]["execution_id"], target.identity.execution_id);
  EXPECT_EQ(taken[0]["stream"], "stdout");
  EXPECT_EQ(taken[1]["stream"], "stderr");
  EXPECT_EQ(taken[1]["offset"], 0);
  EXPECT_EQ(taken[2]["offset"], 4);
  EXPECT_EQ(taken[2]["data"], "two\n");
  EXPECT_EQ(capture.stream(kOut).total(), 8U);
}

// B009
TEST(OutputEventsTest, ACharacterIsNeverInTwoPieces) {
  EXPECT_THAT(data_of(told({"a\xF0\x9F", "\x98", "\x80z"})), ElementsAre("a", "\xF0\x9F\x98\x80z"));
}

TEST(OutputEventsTest, WhatIsNoTextIsToldAsItsBytes) {
  const auto events = told({"\xFF\xFE", "text"});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["encoding"], "base64");
  EXPECT_EQ(from_base64(std::string(events[0]["data"])).value(), "\xFF\xFE");
  EXPECT_EQ(events[1]["encoding"], "utf-8");
  EXPECT_EQ(events[1]["offset"], 2);
}

TEST(OutputEventsTest, ACharacterThatNeverEndsIsToldAtTheEnd) {
  const auto events = told({"a\xE6\x97"});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["offset"], 1);
  EXPECT_EQ(from_base64(std::string(events[1]["data"])).value(), "\xE6\x97");
}

TEST(OutputEventsTest, WhoDidNotAskHearsNothingOfIt) {
  KeptEvents kept;
  EventStream events(kept.sink(false), "run", Clock::now());
  OutputCapture capture(kLimit);
  const auto target = planned();
  OutputEvents output(capture, events, target);
  output.receive(kOut, "one\n");
  output.finish();
  EXPECT_TRUE(output.ready());
  EXPECT_TRUE(kept.take().empty());
  EXPECT_EQ(capture.stream(kOut).total(), 4U);
}

// B113
TEST(OutputEventsTest, AReaderThatStallsHoldsTheServerBack) {
  const sshx::test::FullPipe full;
  InheritedOutput lines({{full.ends.write_end.get(), "events"}}, ThreadSignal::make().value());
  EventStream events({&lines, true}, "run", Clock::now());
  OutputCapture capture(kLimit);
  const auto target = planned();
  OutputEvents output(capture, events, target);
  std::size_t pieces = 0;
  const std::string piece(16UL * 1024, 'x');
  for (; output.ready() && pieces < 1000; ++pieces) output.receive(kOut, piece);
  EXPECT_LE(pieces, 17U);
  EXPECT_FALSE(output.ready());
}

TEST(OutputEventsTest, AReaderThatWentAwayHoldsNobodyBack) {
  std::signal(SIGPIPE, SIG_IGN);
  auto pipe = sshx::test::make_pipe();
  pipe.read_end = UniqueFd();
  InheritedOutput lines({{pipe.write_end.get(), "events"}}, ThreadSignal::make().value());
  EventStream events({&lines, true}, "run", Clock::now());
  OutputCapture capture(kLimit);
  const auto target = planned();
  OutputEvents output(capture, events, target);
  sshx::test::Loop loop;
  for (int i = 0; i < 100; ++i) {
    output.receive(kOut, std::string(16UL * 1024, 'x'));
    loop.run(lines.drain(loop.runtime(), after(sshx::test::kGuardSeconds)));
  }
  EXPECT_TRUE(lines.failure().has_value());
  EXPECT_FALSE(output.failure().has_value());
  while (!output.ready()) std::this_thread::yield();
}

}  // namespace
}  // namespace sshx::exec
