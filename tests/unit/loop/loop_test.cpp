#include <thread>

#include "loop/loop.h"
#include "unit/loop/scratch.h"

namespace sshx::ssh {
namespace {

using test::kGuardSeconds;
using test::kShortSeconds;
using test::Loop;

Task<void> count_wakes(Wakeup& wakeup, int wakes, int& counted) {
  for (int i = 0; i < wakes; ++i) {
    const WaitEnd end = co_await wakeup.wait_until(after(kGuardSeconds));
    if (end == WaitEnd::notified) ++counted;
  }
}

Task<WaitEnd> wait_for(Wakeup& wakeup, double seconds) {
  const WaitEnd end = co_await wakeup.wait_until(after(seconds));
  co_return end;
}

Task<WaitEnd> wait_for_ever(Wakeup& wakeup) {
  const WaitEnd end = co_await wakeup.wait_until(kNoDeadline);
  co_return end;
}

TEST(WakeupTest, KeepsANotificationThatCameWhileNobodySlept) {
  Loop loop;
  Wakeup wakeup(loop.context());
  wakeup.notify();
  EXPECT_EQ(loop.run(wait_for_ever(wakeup)), WaitEnd::notified);
}

TEST(WakeupTest, ANotificationIsUsedUpByOneWait) {
  Loop loop;
  Wakeup wakeup(loop.context());
  wakeup.notify();
  wakeup.notify();
  EXPECT_EQ(loop.run(wait_for(wakeup, kGuardSeconds)), WaitEnd::notified);
  EXPECT_EQ(loop.run(wait_for(wakeup, kShortSeconds)), WaitEnd::deadline);
}

TEST(WakeupTest, ANotificationWakesASleeper) {
  Loop loop;
  Wakeup wakeup(loop.context());
  asio::post(loop.context(), [&] { wakeup.notify(); });
  EXPECT_EQ(loop.run(wait_for_ever(wakeup)), WaitEnd::notified);
}

TEST(WakeupTest, ADeadlineThatHasPassedEndsTheWait) {
  Loop loop;
  Wakeup wakeup(loop.context());
  EXPECT_EQ(loop.run(wait_for(wakeup, -1)), WaitEnd::deadline);
}

TEST(WakeupTest, CanBeUsedAgainAfterADeadline) {
  Loop loop;
  Wakeup wakeup(loop.context());
  EXPECT_EQ(loop.run(wait_for(wakeup, 0)), WaitEnd::deadline);
  wakeup.notify();
  EXPECT_EQ(loop.run(wait_for_ever(wakeup)), WaitEnd::notified);
}

TEST(CancellationTest, IsNotRequestedAtFirst) {
  const Cancellation cancellation;
  EXPECT_FALSE(cancellation.requested());
}

TEST(CancellationTest, TheErrorNamesTheReason) {
  Cancellation cancellation;
  cancellation.request("SIGINT");
  EXPECT_TRUE(cancellation.requested());
  EXPECT_EQ(cancellation.reason(), "SIGINT");
  const Error error = cancellation.error();
  EXPECT_EQ(error.kind, ErrorKind::cancelled);
  EXPECT_EQ(error.code, "signal");
  EXPECT_NE(error.message.find("SIGINT"), std::string::npos) << error.message;
}

TEST(CancellationTest, WakesEachSubscriberOnce) {
  Loop loop;
  Cancellation cancellation;
  Wakeup first(loop.context());
  Wakeup second(loop.context());
  const Cancellation::Subscription one(cancellation, first);
  const Cancellation::Subscription two(cancellation, second);
  cancellation.request("SIGTERM");
  for (Wakeup* wakeup : {&first, &second}) {
    EXPECT_EQ(loop.run(wait_for(*wakeup, kGuardSeconds)), WaitEnd::notified);
    EXPECT_EQ(loop.run(wait_for(*wakeup, kShortSeconds)), WaitEnd::deadline);
  }
}

TEST(CancellationTest, WhoAsksOnceIsNeverTakenForASecondOne) {
  Cancellation first;
  first.request_once("the end");
  EXPECT_TRUE(first.requested());
  Cancellation after_request;
  after_request.request("SIGTERM");
  after_request.acknowledge();
  after_request.request_once("the end");
  EXPECT_FALSE(after_request.requested());
  after_request.request("SIGTERM");
  EXPECT_TRUE(after_request.requested());
  // What a deadline ends is under way, too.
  Cancellation after_deadline;
  after_deadline.acknowledge();
  after_deadline.request_once("the end");
  EXPECT_FALSE(after_deadline.requested());
}

TEST(CancellationTest, AnEndedSubscriptionIsNotWoken) {
  Loop loop;
  Cancellation cancellation;
  Wakeup wakeup(loop.context());
  Wakeup other(loop.context());
  const Cancellation::Subscription stays(cancellation, other);
  { const Cancellation::Subscription ended(cancellation, wakeup); }
  cancellation.request("SIGTERM");
  EXPECT_EQ(loop.run(wait_for(wakeup, kShortSeconds)), WaitEnd::deadline);
  EXPECT_EQ(loop.run(wait_for(other, kGuardSeconds)), WaitEnd::notified);
}

TEST(ThreadSignalTest, IsReadableFromRaiseToClear) {
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  pollfd entry{.fd = (*signal)->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  (*signal)->raise();
  (*signal)->raise();
  EXPECT_EQ(poll(&entry, 1, 0), 1);
  (*signal)->clear();
  EXPECT_EQ(poll(&entry, 1, 0), 0);
}

TEST(ThreadSignalTest, ClearingWhatWasNotRaisedDoesNotWait) {
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  (*signal)->clear();
  (*signal)->raise();
  EXPECT_TRUE(test::wait_readable((*signal)->descriptor()));
}

TEST(SignalRelayTest, WakesTheLoopFromAnotherThread) {
  Loop loop;
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  Wakeup wakeup(loop.context());
  const SignalRelay relay(loop.context(), *signal, wakeup);
  std::thread other([raised = *signal] { raised->raise(); });
  EXPECT_EQ(loop.run(wait_for_ever(wakeup)), WaitEnd::notified);
  other.join();
}

TEST(SignalRelayTest, WakesForEveryRaise) {
  Loop loop;
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  Wakeup wakeup(loop.context());
  const SignalRelay relay(loop.context(), *signal, wakeup);
  for (int i = 0; i < 20; ++i) {
    std::thread other([raised = *signal] { raised->raise(); });
    EXPECT_EQ(loop.run(wait_for(wakeup, kGuardSeconds)), WaitEnd::notified) << i;
    other.join();
  }
}

TEST(SignalRelayTest, WhatWasRaisedBeforeItWasMadeWakesToo) {
  Loop loop;
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  (*signal)->raise();
  Wakeup wakeup(loop.context());
  const SignalRelay relay(loop.context(), *signal, wakeup);
  EXPECT_EQ(loop.run(wait_for(wakeup, kGuardSeconds)), WaitEnd::notified);
}

TEST(SignalRelayTest, AThreadMayRaiseAfterTheLoopIsGone) {
  std::shared_ptr<ThreadSignal> kept;
  {
    Loop loop;
    auto signal = ThreadSignal::make();
    ASSERT_TRUE(signal.has_value());
    kept = *signal;
    Wakeup wakeup(loop.context());
    const SignalRelay relay(loop.context(), kept, wakeup);
    EXPECT_EQ(loop.run(wait_for(wakeup, 0)), WaitEnd::deadline);
  }
  std::thread other([kept] { kept->raise(); });
  other.join();
  EXPECT_TRUE(test::wait_readable(kept->descriptor()));
}

TEST(SignalRelayTest, AStoppedRelayWakesNobody) {
  Loop loop;
  auto signal = ThreadSignal::make();
  ASSERT_TRUE(signal.has_value());
  Wakeup wakeup(loop.context());
  {
    const SignalRelay relay(loop.context(), *signal, wakeup);
    EXPECT_EQ(loop.run(wait_for(wakeup, 0)), WaitEnd::deadline);
  }
  (*signal)->raise();
  EXPECT_EQ(loop.run(wait_for(wakeup, kShortSeconds)), WaitEnd::deadline);
}

class TerminationSignalsTest : public testing::TestWithParam<std::pair<int, std::string>> {};

// B029
TEST_P(TerminationSignalsTest, BecomeACancellation) {
  Loop loop;
  const TerminationSignals signals(loop.context(), loop.cancellation());
  Wakeup wakeup(loop.context());
  const Cancellation::Subscription subscription(loop.cancellation(), wakeup);
  ASSERT_EQ(raise(GetParam().first), 0);
  EXPECT_EQ(loop.run(wait_for(wakeup, kGuardSeconds)), WaitEnd::notified);
  EXPECT_TRUE(loop.cancellation().requested());
  EXPECT_EQ(loop.cancellation().reason(), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(All, TerminationSignalsTest,
                         testing::Values(std::pair{SIGINT, std::string("SIGINT")},
                                         std::pair{SIGTERM, std::string("SIGTERM")},
                                         std::pair{SIGHUP, std::string("SIGHUP")}),
                         [](const auto& instance) { return instance.param.second; });

TEST(RunCancellableTest, ASignalReachesTheTask) {
  std::string reason;
  const auto task = [&reason](Runtime runtime) -> Task<bool> {
    Wakeup wakeup(runtime.context);
    const Cancellation::Subscription subscription(runtime.cancellation, wakeup);
    raise(SIGTERM);
    const WaitEnd end = co_await wakeup.wait_until(after(kGuardSeconds));
    reason = runtime.cancellation.reason();
    co_return end == WaitEnd::notified;
  };
  EXPECT_TRUE(run_cancellable(task));
  EXPECT_EQ(reason, "SIGTERM");
}

TEST(RunToEndTest, AnExceptionComesThrough) {
  Loop loop;
  const auto task = []() -> Task<int> {
    throw std::logic_error("a defect");
    co_return 1;
  };
  EXPECT_THROW((void)loop.run(task()), std::logic_error);
}

TEST(RunToEndTest, OtherCoroutinesRunBesideTheTask) {
  Loop loop;
  Wakeup beside(loop.context());
  Wakeup done(loop.context());
  int counted = 0;
  asio::co_spawn(loop.context(), count_wakes(beside, 1, counted),
                 [&done](const std::exception_ptr&) { done.notify(); });
  beside.notify();
  EXPECT_EQ(loop.run(wait_for(done, kGuardSeconds)), WaitEnd::notified);
  EXPECT_EQ(counted, 1);
}

}  // namespace
}  // namespace sshx::ssh
