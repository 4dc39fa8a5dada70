#include <gtest/gtest.h>

#include "ssh/liveness.h"

namespace sshx::ssh {
namespace {

/// `seconds` after the peer was first heard.
Deadline at(double seconds) {
  return Deadline() + std::chrono::hours(1) +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Liveness heard_at_zero(LivenessLimits limits) {
  Liveness liveness(limits);
  liveness.heard(at(0));
  return liveness;
}

constexpr LivenessLimits kTwice{.interval_seconds = 10, .count_max = 2};

// B007
TEST(LivenessTest, SilenceShorterThanTheIntervalIsAcceptable) {
  const Liveness liveness = heard_at_zero(kTwice);
  EXPECT_EQ(liveness.judge(at(0)), Silence::acceptable);
  EXPECT_EQ(liveness.judge(at(9.999)), Silence::acceptable);
  EXPECT_EQ(liveness.judge(at(10)), Silence::probe_due);
  EXPECT_EQ(liveness.next_look(), at(10));
}

TEST(LivenessTest, EachProbeHasAnIntervalOfItsOwn) {
  Liveness liveness = heard_at_zero(kTwice);
  liveness.probed();
  EXPECT_EQ(liveness.judge(at(10)), Silence::acceptable);
  EXPECT_EQ(liveness.judge(at(20)), Silence::probe_due);
  liveness.probed();
  EXPECT_EQ(liveness.judge(at(29.999)), Silence::acceptable);
  EXPECT_EQ(liveness.next_look(), at(30));
}

TEST(LivenessTest, UnansweredProbesEndIt) {
  Liveness liveness = heard_at_zero(kTwice);
  liveness.probed();
  liveness.probed();
  EXPECT_EQ(liveness.judge(at(30)), Silence::too_long);
  EXPECT_EQ(liveness.judge(at(3000)), Silence::too_long);
}

// A command may be silent as long as it likes; the server answers for it.
TEST(LivenessTest, AnyByteForgetsTheProbes) {
  Liveness liveness = heard_at_zero(kTwice);
  for (int round = 1; round <= 100; ++round) {
    EXPECT_EQ(liveness.judge(at(10 * round)), Silence::probe_due) << round;
    liveness.probed();
    liveness.heard(at(10 * round));
    EXPECT_EQ(liveness.judge(at((10 * round) + 9)), Silence::acceptable) << round;
  }
  liveness.probed();
  liveness.probed();
  liveness.heard(at(1029));
  EXPECT_EQ(liveness.judge(at(1038)), Silence::acceptable);
  EXPECT_EQ(liveness.judge(at(1039)), Silence::probe_due);
}

TEST(LivenessTest, WhatIsNotNewProvesNothing) {
  Liveness liveness = heard_at_zero(kTwice);
  liveness.probed();
  liveness.probed();
  liveness.heard(at(0));
  liveness.heard(at(-5));
  EXPECT_EQ(liveness.judge(at(30)), Silence::too_long);
}

TEST(LivenessTest, OneProbeIsEnoughWhereOneIsAllowed) {
  Liveness liveness = heard_at_zero({.interval_seconds = 10, .count_max = 1});
  EXPECT_EQ(liveness.judge(at(10)), Silence::probe_due);
  liveness.probed();
  EXPECT_EQ(liveness.judge(at(19)), Silence::acceptable);
  EXPECT_EQ(liveness.judge(at(20)), Silence::too_long);
}

TEST(LivenessTest, ZeroNeverAsks) {
  const Liveness liveness = heard_at_zero({.interval_seconds = 0, .count_max = 1});
  EXPECT_EQ(liveness.judge(at(1e6)), Silence::acceptable);
  EXPECT_EQ(liveness.next_look(), kNoDeadline);
}

}  // namespace
}  // namespace sshx::ssh
