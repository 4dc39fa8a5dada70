#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "exec/async_audit_sink.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using test::kGuardSeconds;
using test::Loop;
using test::outcome_of;

/// A queue whose outcomes are said by the test, from any thread.
class SaidQueue final : public AuditQueue {
 public:
  Status start(std::function<void()> notify) override {
    notify_ = std::move(notify);
    return start_status;
  }

  Ticket append(Json record) override {
    taken.push_back(std::move(record));
    if (refuses) say({{taken.size(), test::some_error(ErrorKind::internal, "audit_record")}});
    return taken.size();
  }

  std::vector<Outcome> take_outcomes() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcomes_, {});
  }

  void say(const std::vector<Outcome>& outcomes) {
    {
      const std::lock_guard lock(mutex_);
      outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
    }
    notify_();
  }

  Status start_status;
  /// Whether a record's outcome is there when append returns.
  bool refuses = false;
  std::vector<Json> taken;

 private:
  std::function<void()> notify_;
  std::mutex mutex_;
  std::vector<Outcome> outcomes_;
};

/// Appends one record and writes down what came of it, and after whom.
Task<void> append_one(AsyncAuditSink& sink, int number, std::vector<std::string>& ends) {
  const Status kept = co_await sink.append(Json(number), after(kGuardSeconds));
  ends.push_back(std::to_string(number) + " " + outcome_of(kept));
}

Task<void> append_until(AsyncAuditSink& sink, Deadline deadline, std::string& end) {
  const Status kept = co_await sink.append(Json("record"), deadline);
  end = outcome_of(kept);
}

Task<void> append_unless_cancelled(Runtime runtime, AsyncAuditSink& sink, std::string& end) {
  const Status kept = co_await sink.append(Json("record"), kNoDeadline, &runtime.cancellation);
  end = outcome_of(kept);
}

/// Gives the loop to the others until `condition` holds.
template <class Condition>
Task<void> until(asio::io_context& context, Condition condition) {
  Wakeup wakeup(context);
  while (!condition()) co_await wakeup.wait_until(after(0.001));
}

std::unique_ptr<AsyncAuditSink> start(Loop& loop, AuditQueue& queue) {
  auto sink = AsyncAuditSink::start(loop.context(), queue);
  EXPECT_TRUE(sink.has_value());
  return std::move(*sink);
}

TEST(AsyncAuditSinkTest, EachCoroutineGoesOnWithItsOwnOutcomeWhileTheOthersWait) {
  Loop loop;
  SaidQueue queue;
  const auto sink = start(loop, queue);
  std::vector<std::string> ends;
  for (int number = 1; number <= 3; ++number) {
    spawn(loop.context(), append_one(*sink, number, ends));
  }
  loop.run(until(loop.context(), [&] { return queue.taken.size() == 3; }));
  EXPECT_EQ(queue.taken, (std::vector<Json>{1, 2, 3}));
  EXPECT_TRUE(ends.empty());
  queue.say({{2, test::some_error(ErrorKind::busy, "audit_locked")}});
  loop.run(until(loop.context(), [&] { return ends.size() == 1; }));
  std::thread other([&queue] { queue.say({{1, {}}, {3, {}}}); });
  loop.run(until(loop.context(), [&] { return ends.size() == 3; }));
  other.join();
  EXPECT_EQ(ends, (std::vector<std::string>{"2 busy/audit_locked", "1 ok", "3 ok"}));
}

TEST(AsyncAuditSinkTest, AnOutcomeThatIsThereAtOnceIsNotMissed) {
  Loop loop;
  SaidQueue queue;
  queue.refuses = true;
  const auto sink = start(loop, queue);
  const Status kept = loop.run(sink->append(Json("record"), after(kGuardSeconds)));
  EXPECT_EQ(outcome_of(kept), "internal/audit_record");
}

TEST(AsyncAuditSinkTest, ADeadlineEndsTheWaitAndTheLateOutcomeDisturbsNobody) {
  Loop loop;
  SaidQueue queue;
  const auto sink = start(loop, queue);
  std::string end;
  loop.run(append_until(*sink, after(0), end));
  EXPECT_EQ(end, "local_io/audit_write");
  std::vector<std::string> ends;
  spawn(loop.context(), append_one(*sink, 2, ends));
  loop.run(until(loop.context(), [&] { return queue.taken.size() == 2; }));
  queue.say({{1, test::some_error(ErrorKind::busy, "audit_locked")}, {2, {}}});
  loop.run(until(loop.context(), [&] { return !ends.empty(); }));
  EXPECT_EQ(ends, std::vector<std::string>{"2 ok"});
}

TEST(AsyncAuditSinkTest, ACancellationEndsTheWaitOfThoseWhoAskedForIt) {
  Loop loop;
  SaidQueue queue;
  const auto sink = start(loop, queue);
  std::string cancelled;
  std::vector<std::string> ends;
  spawn(loop.context(), append_unless_cancelled(loop.runtime(), *sink, cancelled));
  spawn(loop.context(), append_one(*sink, 2, ends));
  loop.run(until(loop.context(), [&] { return queue.taken.size() == 2; }));
  loop.cancellation().request("SIGINT");
  loop.run(until(loop.context(), [&] { return !cancelled.empty(); }));
  EXPECT_EQ(cancelled, "cancelled/signal");
  EXPECT_TRUE(ends.empty());
  queue.say({{2, {}}});
  loop.run(until(loop.context(), [&] { return !ends.empty(); }));
  EXPECT_EQ(ends, std::vector<std::string>{"2 ok"});
}

TEST(AsyncAuditSinkTest, AQueueThatCannotStartIsSaid) {
  Loop loop;
  SaidQueue queue;
  queue.start_status = test::some_error(ErrorKind::local_io, "audit_open");
  const auto sink = AsyncAuditSink::start(loop.context(), queue);
  EXPECT_EQ(outcome_of(sink), "local_io/audit_open");
}

TEST(AsyncAuditSinkTest, OutcomesThatComeAfterItsEndAreLeftAlone) {
  Loop loop;
  SaidQueue queue;
  {
    const auto sink = start(loop, queue);
    std::string end;
    loop.run(append_until(*sink, after(0), end));
  }
  queue.say({{1, {}}});
  int turns = 0;
  loop.run(until(loop.context(), [&turns] { return ++turns == 3; }));
  EXPECT_EQ(queue.take_outcomes().size(), 1U);
}

}  // namespace
}  // namespace sshx::exec
