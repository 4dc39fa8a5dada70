#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "audit/sqlite.h"
#include "cli/store_queue.h"
#include "exec/async_audit_sink.h"
#include "exec/audit_record.h"
#include "unit/exec/samples.h"

namespace sshx::cli {
namespace {

using exec::AsyncAuditSink;
using test::kGuardSeconds;
using test::Loop;
using test::outcome_of;

constexpr int kTargets = 200;

exec::ExecutionResult execution(int number) {
  auto result = test::planned();
  result.identity.execution_id = "execution-" + std::to_string(number);
  return result;
}

/// One target's part of a run, as far as the evidence goes.
Task<void> carry_out(AsyncAuditSink& sink, int number, std::vector<std::string>& ends) {
  const Deadline deadline = after(kGuardSeconds);
  Json begin = exec::started_record(execution(number), "cli");
  const Status started = co_await sink.append(std::move(begin), deadline);
  Json end = exec::finished_record(execution(number));
  const Status finished = co_await sink.append(std::move(end), deadline);
  ends.push_back(outcome_of(started) + " " + outcome_of(finished));
}

Task<void> until_ended(asio::io_context& context, std::size_t count,
                       const std::vector<std::string>& ends) {
  Wakeup wakeup(context);
  const Deadline deadline = after(kGuardSeconds);
  while (ends.size() < count && !passed(deadline)) co_await wakeup.wait_until(after(0.001));
}

class StoreQueueTest : public testing::Test {
 protected:
  StoreQueueTest() : store_(folder_.file("audit.db")) {}

  [[nodiscard]] StoreQueue open(audit::Durability durability) const {
    auto log = audit::AuditLog::open(store_, durability);
    EXPECT_TRUE(log.has_value()) << log.error().message;
    return StoreQueue(std::move(*log));
  }

  [[nodiscard]] const std::string& store() const { return store_; }

  [[nodiscard]] audit::QueryAnswer executions() const {
    const auto log = audit::AuditLog::open_read_only(store_);
    EXPECT_TRUE(log.has_value());
    return log->query({.limit = 2 * kTargets}).value();
  }

 private:
  test::ScratchFolder folder_;
  std::string store_;
};

TEST_F(StoreQueueTest, ManyCoroutinesKeepTheirRecords) {
  Loop loop;
  auto queue = open(audit::Durability::best_effort);
  std::vector<std::string> ends;
  {
    const auto sink = AsyncAuditSink::start(loop.context(), queue);
    ASSERT_TRUE(sink.has_value());
    for (int target = 0; target < kTargets; ++target) {
      spawn(loop.context(), carry_out(**sink, target, ends));
    }
    loop.run(until_ended(loop.context(), kTargets, ends));
  }
  EXPECT_EQ(ends, std::vector<std::string>(kTargets, "ok ok"));
  ASSERT_TRUE(queue.finish(after(kGuardSeconds)).has_value());
  const auto answer = executions();
  EXPECT_EQ(answer.events.size(), std::size_t{kTargets});
  EXPECT_TRUE(answer.warnings.empty());
  for (const auto& event : answer.events) EXPECT_FALSE(event["finished_sequence"].is_null());
}

// The loop that would stall is the one that has to give the lock back: it would be waited for in
// vain.
TEST_F(StoreQueueTest, ALockedStoreHoldsTheRecordUpAndNotTheLoop) {
  Loop loop;
  auto queue = open(audit::Durability::required);
  std::vector<std::string> ends;
  {
    const auto sink = AsyncAuditSink::start(loop.context(), queue);
    ASSERT_TRUE(sink.has_value());
    auto db = audit::Db::open(store(), audit::Access::read_write);
    ASSERT_TRUE(db.has_value());
    auto lock = audit::Txn::begin(*db, audit::Txn::Kind::write);
    ASSERT_TRUE(lock.has_value());
    spawn(loop.context(), carry_out(**sink, 1, ends));
    Wakeup wakeup(loop.context());
    const auto turn = [](Wakeup& other) -> Task<WaitEnd> {
      const WaitEnd end = co_await other.wait_until(after(0.05));
      co_return end;
    };
    EXPECT_EQ(loop.run(turn(wakeup)), WaitEnd::deadline);
    EXPECT_TRUE(ends.empty());
    ASSERT_TRUE(lock->commit().has_value());
    loop.run(until_ended(loop.context(), 1, ends));
  }
  EXPECT_EQ(ends, std::vector<std::string>{"ok ok"});
  EXPECT_TRUE(queue.finish(after(kGuardSeconds)).has_value());
  EXPECT_EQ(executions().events.size(), 1U);
}

TEST_F(StoreQueueTest, AQueueThatWasNeverStartedHasNothingToFinish) {
  auto queue = open(audit::Durability::best_effort);
  EXPECT_TRUE(queue.finish(kNoDeadline).has_value());
}

}  // namespace
}  // namespace sshx::cli
