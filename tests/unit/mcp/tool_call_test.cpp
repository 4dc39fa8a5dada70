#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <vector>

#include "mcp/tool_call.h"
#include "mcp/tools.h"
#include "unit/loop/scratch.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using sshx::test::kGuardSeconds;
using sshx::test::Loop;
using testing::IsEmpty;
using testing::SizeIs;

/// `run` as one that can answer with a stream of events.
class StreamingOperation {
 public:
  StreamingOperation() : operation_(*find_operation("run")) {
    options_.assign(operation_.presentation.begin(), operation_.presentation.end());
    if (!takes(operation_, "jsonl")) {
      options_.push_back(options_.front());
      options_.back().name = "jsonl";
    }
    operation_.presentation = options_;
  }

  [[nodiscard]] const Operation& get() const { return operation_; }

 private:
  Operation operation_;
  std::vector<Property> options_;
};

/// One call whose child is a script that prints events, with the progress that it reports.
class EventCall {
 public:
  explicit EventCall(const std::string& script, const Limits& limits = test::patient_limits())
      : limits_(limits) {
    const std::string begin = R"sh(#!/bin/sh
here=${0%/*}
event() {
  printf '{"schema_version":"sshx.event.v1","seq":%s,"event":"%s","run_id":"r-1"%s}\n' "$1" "$2" "$3"
}
finished() {
  event "$1" target_finished ',"execution_id":"e-1","result":{"schema_version":"sshx.result.v1","success":true}'
}
# Waits for one note of progress.
note() { read line < "$here/notes"; }
)sh";
    sshx::test::write_file(folder_.file("program"), begin + script, 0700);
    settings_.program = folder_.file("program");
    settings_.environment = {"PATH=/usr/bin:/bin"};
    notes_ = std::make_unique<test::Fifo>(folder_.file("notes"));
  }

  /// What comes of it; `first` is done to the call before its turn comes.
  std::optional<ToolAnswer> answer(void (*first)(ToolCall&)) {
    ToolCall call(loop_.context(), settings_, limits_, operation_.get(), Json::object(),
                  [this](const Progress& progress) {
                    reported_.push_back(progress);
                    notes_->write("note\n");
                  });
    const SignalWatch watch(loop_.context(), SIGCHLD, [&] { call.notice_child_end(); });
    first(call);
    return loop_.run(call.run());
  }

  /// The answer's document.
  Json run() {
    const auto answered = answer([](ToolCall&) {});
    EXPECT_TRUE(answered.has_value());
    is_error_ = answered && answered->is_error;
    return answered ? answered->document : Json();
  }

  [[nodiscard]] std::string file(const char* name) const { return folder_.file(name); }

  [[nodiscard]] const std::vector<Progress>& reported() const { return reported_; }

  [[nodiscard]] bool is_error() const { return is_error_; }

  void expect_growing() const {
    for (std::size_t i = 1; i < reported_.size(); ++i) {
      EXPECT_GT(reported_[i].value, reported_[i - 1].value) << "note " << i;
      if (reported_[i].total) {
        EXPECT_LT(reported_[i].value, *reported_[i].total);
      }
    }
  }

 private:
  sshx::test::ScratchFolder folder_;
  Limits limits_;
  ChildSettings settings_;
  StreamingOperation operation_;
  std::unique_ptr<test::Fifo> notes_;
  Loop loop_;
  std::vector<Progress> reported_;
  bool is_error_ = false;
};

Limits with_beats() {
  auto limits = test::patient_limits();
  limits.heartbeat_seconds = 0.01;
  return limits;
}

std::string code_of(const Json& document) { return document["error"]["code"].get<std::string>(); }

TEST(EventCallTest, AsksForEventsAndAnswersWithTheResult) {
  EventCall call(R"(case "$*" in *--jsonl*) ;; *) exit 9;; esac
      case "$*" in *--json\ *|*--json) exit 8;; esac
      event 1 run_started ',"selected":1'; event 2 target_started; finished 3; event 4 run_finished)");
  EXPECT_EQ(call.run(), (Json{{"schema_version", "sshx.result.v1"}, {"success", true}}));
  EXPECT_FALSE(call.is_error());
  EXPECT_THAT(call.reported(), IsEmpty()) << "the news of the last target is the response";
}

TEST(EventCallTest, AFailedRunIsAnErrorWithItsResult) {
  EventCall call("event 1 run_started ',\"selected\":1'; finished 2; event 3 run_finished; exit 1");
  EXPECT_EQ(call.run()["schema_version"], "sshx.result.v1");
  EXPECT_TRUE(call.is_error());
}

TEST(EventCallTest, ReportsEachTargetButTheLast) {
  EventCall call(R"(event 1 run_started ',"selected":3'
      finished 2; note; finished 3; note; finished 4; event 5 run_finished)");
  (void)call.run();
  ASSERT_THAT(call.reported(), SizeIs(2));
  EXPECT_EQ(call.reported()[0].value, 1);
  EXPECT_EQ(call.reported()[1].value, 2);
  EXPECT_EQ(call.reported()[0].total, 3);
}

TEST(EventCallTest, BeatsAlwaysGrowAndNeverReachTheTotal) {
  EventCall call(R"(note; note; note
      event 1 run_started ',"selected":2'; note; note; note
      finished 2; note; note; note
      finished 3; event 4 run_finished)",
                 with_beats());
  (void)call.run();
  EXPECT_GE(call.reported().size(), 9U);
  call.expect_growing();
}

TEST(EventCallTest, AStreamThatIsNotWholeIsAnAdaptersErrorThatNamesTheRun) {
  for (const auto& [script, code] : std::vector<std::pair<std::string, std::string>>{
           {"event 1 run_started; finished 2", "truncated"},
           {"event 1 run_started; printf '{\"schema'", "truncated"},
           {"event 1 run_started; event 3 target_started; exec sleep 1000", "malformed"},
           {"event 1 run_started; echo noise; exec sleep 1000", "malformed"},
           {"event 1 run_started; event 2 run_finished", "malformed"}}) {
    EventCall call(script);
    const auto document = call.run();
    EXPECT_EQ(code_of(document), code) << script;
    EXPECT_EQ(document["run_id"], "r-1") << script;
    EXPECT_EQ(document["executed"], Json(nullptr));
    EXPECT_TRUE(call.is_error());
  }
}

TEST(EventCallTest, WhatIsStoppedBeforeItsTurnDoesNotBegin) {
  EventCall call("echo ran > \"$here/ran\"");
  const auto ended = call.answer([](ToolCall& stopped) { stopped.shut_down(); });
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(code_of(ended->document), "shutdown");
  EXPECT_EQ(ended->document["executed"], Json(false));
  EXPECT_EQ(ended->document["error"]["retry_safety"], "safe");
  EXPECT_TRUE(ended->is_error);
  EXPECT_FALSE(call.answer([](ToolCall& stopped) { stopped.cancel(); }).has_value());
  EXPECT_FALSE(std::filesystem::exists(call.file("ran")));
}

TEST(EventCallTest, AnEventBeyondItsLimitEndsTheChild) {
  auto limits = test::patient_limits();
  limits.event_bytes = 1000;
  EventCall call("event 1 run_started; yes | tr -d '\\n'", limits);
  EXPECT_EQ(code_of(call.run()), "event_limit");
}

TEST(EventCallTest, MoreEventsThanTheLimitEndTheChild) {
  auto limits = test::patient_limits();
  limits.events = 50;
  EventCall call("i=1; while :; do event $i target_started; i=$((i+1)); done", limits);
  EXPECT_EQ(code_of(call.run()), "too_many_events");
}

TEST(EventCallTest, AChildThatDiesMidwayIsNoResult) {
  EventCall call("event 1 run_started ',\"selected\":1'; finished 2; kill -KILL $$");
  const auto document = call.run();
  EXPECT_EQ(code_of(document), "truncated");
  EXPECT_EQ(document["child"]["signal"], SIGKILL);
  EXPECT_EQ(document["execution_id"], "e-1");
}

}  // namespace
}  // namespace sshx::mcp
