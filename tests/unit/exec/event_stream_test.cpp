#include <gmock/gmock.h>

#include <functional>

#include "exec/event_stream.h"
#include "unit/exec/kept_events.h"
#include "unit/exec/samples.h"
#include "unit/exec/schema_check.h"

namespace sshx::exec {
namespace {

using test::full;
using test::KeptEvents;
using test::planned;
using test::some_error;

ExecutionResult finalised(ExecutionResult result) {
  finalise(result);
  return result;
}

RunStart start(std::optional<std::string> request_id = std::nullopt) {
  return {.operation = "run",
          .request_id = std::move(request_id),
          .selected = 1,
          .document = "sshx.result.v1",
          .plan_hash = "sha256:" + std::string(64, 'a'),
          .warnings = {}};
}

/// The events of a run whose target was started and ended as `result`.
std::vector<Json> events_of(const ExecutionResult& result) {
  KeptEvents kept;
  EventStream stream(kept.sink(), result.identity.run_id, Clock::now());
  stream.run_started(start());
  stream.target_started(planned());
  stream.target_finished(result);
  stream.run_finished(7);
  return kept.take();
}

TEST(EventStreamTest, EachEventIsWhatItsSchemaSays) {
  const auto events = events_of(finalised(full()));
  ASSERT_EQ(events.size(), 4U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    test::expect_valid(events[i]);
    EXPECT_EQ(events[i]["seq"], i + 1);
    EXPECT_EQ(events[i]["run_id"], planned().identity.run_id);
  }
  EXPECT_EQ(events[0]["event"], "run_started");
  EXPECT_TRUE(events[0]["request_id"].is_null());
  EXPECT_EQ(events[1]["event"], "target_started");
  EXPECT_EQ(events[1]["target"], target_json(test::web_target()));
  EXPECT_EQ(events[2]["event"], "target_finished");
  EXPECT_EQ(events[3]["event"], "run_finished");
  EXPECT_EQ(events[3]["exit_code"], 7);
}

TEST(EventStreamTest, TheResultIsTheDocumentByteForByte) {
  auto result = full();
  result.standard_output = test::captured("\x1b[1m\xc3\xa9\xff \"quoted\"\n");
  finalise(result);
  const auto event = events_of(result)[2];
  const auto end = ",\"result\":" + dump_json(result_document(result)) + "}";
  EXPECT_TRUE(dump_json(event).ends_with(end)) << dump_json(event);
}

TEST(EventStreamTest, TheRequestsNameComesBack) {
  KeptEvents kept;
  EventStream stream(kept.sink(), "run", Clock::now());
  stream.run_started(start("ticket-1"));
  EXPECT_EQ(kept.take()[0]["request_id"], "ticket-1");
}

TEST(EventStreamTest, WithoutAReaderNothingHappens) {
  EventStream stream({}, "run", Clock::now());
  stream.run_started(start());
  stream.target_started(planned());
  stream.target_finished(finalised(full()));
  stream.run_finished(0);
}

/// A command that was stopped before its end.
ssh::CommandOutcome stopped(ssh::Acknowledgement request, Error why) {
  ssh::CommandOutcome outcome;
  outcome.request = request;
  outcome.stopped = std::move(why);
  return outcome;
}

Json counts_of(const std::function<void(ExecutionResult&)>& change) {
  auto result = full();
  change(result);
  finalise(result);
  return events_of(result)[3]["counts"];
}

Json counts(const char* name) {
  Json expected = {{"selected", 1}, {"started", 1}, {"succeeded", 0},
                   {"failed", 0},   {"skipped", 0}, {"uncertain", 0}};
  expected[name] = 1;
  return expected;
}

TEST(TargetCountsTest, EachTargetIsInOne) {
  EXPECT_EQ(counts_of([](ExecutionResult&) {}), counts("succeeded"));
  EXPECT_EQ(counts_of([](ExecutionResult& r) { r.outcome.exit_status = 3; }), counts("failed"));
  EXPECT_EQ(counts_of([](ExecutionResult& r) {
              r.outcome = {};
              r.error = some_error(ErrorKind::connect, "refused");
            }),
            counts("failed"));
  EXPECT_EQ(counts_of([](ExecutionResult& r) {
              r.outcome =
                  stopped(ssh::Acknowledgement::success, some_error(ErrorKind::timeout, "command"));
            }),
            counts("failed"));
}

TEST(TargetCountsTest, WhatNobodyCanTellIsNoFailure) {
  EXPECT_EQ(counts_of([](ExecutionResult& r) {
              r.outcome =
                  stopped(ssh::Acknowledgement::awaited, some_error(ErrorKind::timeout, "host"));
            }),
            counts("uncertain"));
  EXPECT_EQ(counts_of([](ExecutionResult& r) {
              r.outcome = stopped(ssh::Acknowledgement::success,
                                  some_error(ErrorKind::connection_lost, "reset"));
            }),
            counts("uncertain"));
}

TEST(TargetCountsTest, WhatWasNeverStartedIsNotCountedAsStarted) {
  KeptEvents kept;
  EventStream stream(kept.sink(), "run", Clock::now());
  auto result = planned();
  result.error = some_error(ErrorKind::local_io, "audit_open");
  finalise(result);
  stream.run_started(start());
  stream.target_finished(result);
  stream.run_finished(255);
  const auto events = kept.take();
  EXPECT_EQ(events[2]["counts"]["started"], 0);
  EXPECT_EQ(events[2]["counts"]["failed"], 1);
  EXPECT_EQ(events[2]["seq"], 3);
}

}  // namespace
}  // namespace sshx::exec
