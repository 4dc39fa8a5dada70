#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "audit/group_commit.h"
#include "unit/audit/scratch.h"

namespace sshx::audit {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int kMany = 400;
constexpr int kFailed = 1;
constexpr int kSignalBase = 128;
/// Only a defect reaches it.
constexpr double kGuardSeconds = 60;
/// What the records of a test's transactions are far beyond, and one record is not.
constexpr rlim_t kSmallFile = 300000;

/// Hears of outcomes; on request it holds the writer up in the middle of its notification, so that
/// what is queued meanwhile is known to be one batch.
class Ear {
 public:
  [[nodiscard]] std::function<void()> notify() const {
    return [state = state_] {
      std::unique_lock lock(state->mutex);
      ++state->heard;
      state->changed.notify_all();
      state->changed.wait(lock, [&state] { return !state->holding; });
    };
  }

  void hold(bool holding) {
    const std::lock_guard lock(state_->mutex);
    state_->holding = holding;
    state_->changed.notify_all();
  }

  void wait_for(int notifications) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->heard >= notifications; });
  }

  [[nodiscard]] int heard() {
    const std::lock_guard lock(state_->mutex);
    return state_->heard;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int heard = 0;
    bool holding = false;
  };

  // The writer may outlive the test that failed.
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string code_of(const Status& status) {
  return status.has_value() ? "stored" : status.error().code;
}

std::vector<std::string> codes_of(const std::vector<GroupCommit::Outcome>& outcomes) {
  std::vector<std::string> codes;
  for (const auto& outcome : outcomes) codes.push_back(code_of(outcome.status));
  return codes;
}

std::vector<std::string> names(const std::string& prefix, int from, int to) {
  std::vector<std::string> all;
  for (int index = from; index <= to; ++index) all.push_back(prefix + std::to_string(index));
  return all;
}

void append_all(GroupCommit& writer, const std::vector<std::string>& ids) {
  for (const auto& id : ids) writer.append(started_record(id));
}

/// Lets one record be stored and holds the writer in its notification; then `ids` are queued, so
/// that they are its next transaction.
void queue_as_one(GroupCommit& writer, Ear& ear, const std::vector<std::string>& ids) {
  ear.hold(true);
  writer.append(started_record("first"));
  ear.wait_for(1);
  append_all(writer, ids);
}

void limit_file_size(rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

class GroupCommitTest : public AuditTest {
 protected:
  [[nodiscard]] std::unique_ptr<GroupCommit>
  start(std::function<void()> notify, Durability durability = Durability::best_effort) const {
    auto log = AuditLog::open(store(), durability);
    EXPECT_TRUE(log.has_value()) << log.error().message;
    auto writer = GroupCommit::start(std::move(*log), std::move(notify));
    EXPECT_TRUE(writer.has_value()) << writer.error().message;
    return std::move(*writer);
  }

  /// The executions of all records, in the order of the chain.
  [[nodiscard]] std::vector<std::string> stored_ids() const {
    std::vector<std::string> ids;
    auto db = Db::open(store(), Access::read_only);
    auto select = db->prepare("SELECT execution_id FROM records ORDER BY sequence");
    auto row = select->use();
    while (row.next().value()) ids.push_back(row.text(0));
    return ids;
  }
};

TEST_F(GroupCommitTest, StoresWhatOneThreadQueuesInItsOrderAndChained) {
  for (const auto durability : {Durability::best_effort, Durability::required}) {
    Ear ear;
    const auto writer = start(ear.notify(), durability);
    for (const auto& id : names("", 1, kMany / 2)) {
      writer->append(started_record(id));
      writer->append(finished_record(id));
    }
    ASSERT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
    const auto outcomes = writer->take_outcomes();
    EXPECT_THAT(codes_of(outcomes), Each("stored"));
    ASSERT_EQ(outcomes.size(), std::size_t{kMany});
    for (std::size_t index = 0; index < outcomes.size(); ++index) {
      EXPECT_EQ(outcomes[index].ticket, index + 1);
    }
  }
  EXPECT_EQ(expect_intact_chain(store()), 2 * kMany);
  std::vector<std::string> expected;
  for (int round = 0; round < 2; ++round) {
    for (const auto& id : names("", 1, kMany / 2)) expected.insert(expected.end(), 2, id);
  }
  EXPECT_EQ(stored_ids(), expected);
}

TEST_F(GroupCommitTest, WhatIsQueuedMeanwhileIsOneTransactionAndOneNotification) {
  Ear ear;
  const auto writer = start(ear.notify());
  queue_as_one(*writer, ear, names("", 1, kMany));
  EXPECT_EQ(writer->take_outcomes().size(), 1U);
  ear.hold(false);
  ear.wait_for(2);
  EXPECT_EQ(writer->take_outcomes().size(), std::size_t{kMany});
  ASSERT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
  EXPECT_EQ(ear.heard(), 2);
  EXPECT_EQ(expect_intact_chain(store()), kMany + 1);
}

TEST_F(GroupCommitTest, TheOutcomeComesAfterTheRecordIsStored) {
  Ear ear;
  const auto writer = start(ear.notify());
  writer->append(started_record("one"));
  ear.wait_for(1);
  EXPECT_EQ(query().events.size(), 1U);
  EXPECT_EQ(codes_of(writer->take_outcomes()), std::vector<std::string>{"stored"});
  EXPECT_TRUE(writer->take_outcomes().empty());
}

// The thread that appends is the one that holds the lock: had it waited, all would have failed.
TEST_F(GroupCommitTest, ALockedStoreHoldsNoCallerUp) {
  append({started_record("zero")});
  Ear ear;
  const auto writer = start(ear.notify(), Durability::required);
  {
    auto db = Db::open(store(), Access::read_write);
    const auto lock = Txn::begin(*db, Txn::Kind::write);
    append_all(*writer, names("", 1, kMany));
    EXPECT_TRUE(writer->take_outcomes().empty());
  }
  ASSERT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
  const auto outcomes = writer->take_outcomes();
  EXPECT_THAT(codes_of(outcomes), Each("stored"));
  EXPECT_EQ(outcomes.size(), std::size_t{kMany});
  EXPECT_EQ(expect_intact_chain(store()), kMany + 1);
}

TEST_F(GroupCommitTest, ALockThatStaysFailsItsBatchAndTheNextIsTriedAgain) {
  append({started_record("zero")});
  Ear ear;
  const auto writer = start(ear.notify());
  {
    auto db = Db::open(store(), Access::read_write);
    const auto lock = Txn::begin(*db, Txn::Kind::write);
    writer->append(started_record("lost"));
    ear.wait_for(1);
    const auto outcomes = writer->take_outcomes();
    ASSERT_EQ(codes_of(outcomes), std::vector<std::string>{"audit_locked"});
    EXPECT_EQ(outcomes[0].status.error().kind, ErrorKind::busy);
    EXPECT_THAT(outcomes[0].status.error().message, HasSubstr(store().string()));
  }
  writer->append(started_record("kept"));
  ear.wait_for(2);
  EXPECT_EQ(codes_of(writer->take_outcomes()), std::vector<std::string>{"stored"});
  EXPECT_EQ(stored_ids(), (std::vector<std::string>{"zero", "kept"}));
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

TEST_F(GroupCommitTest, AFullDiskFailsItsWholeBatchAndTheNextIsTriedAgain) {
  Child child([this] {
    std::signal(SIGXFSZ, SIG_IGN);
    Ear ear;
    const auto writer = start(ear.notify());
    queue_as_one(*writer, ear, names("lost-", 1, kMany));
    static_cast<void>(writer->take_outcomes());
    limit_file_size(kSmallFile);
    ear.hold(false);
    ear.wait_for(2);
    const auto outcomes = writer->take_outcomes();
    EXPECT_EQ(outcomes.size(), std::size_t{kMany});
    EXPECT_THAT(codes_of(outcomes), Each("no_space"));
    limit_file_size(RLIM_INFINITY);
    writer->append(started_record("second"));
    ear.wait_for(3);
    EXPECT_EQ(codes_of(writer->take_outcomes()), std::vector<std::string>{"stored"});
    EXPECT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
    return HasFailure() ? kFailed : 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(stored_ids(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

TEST_F(GroupCommitTest, ARecordThatNamesNoExecutionIsRefusedAlone) {
  Ear ear;
  const auto writer = start(ear.notify());
  queue_as_one(*writer, ear, {"one"});
  static_cast<void>(writer->take_outcomes());
  ear.hold(false);
  const auto refused = writer->append(Json{{"event", "started"}});
  writer->append(started_record("two"));
  ASSERT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
  for (const auto& outcome : writer->take_outcomes()) {
    EXPECT_EQ(code_of(outcome.status), outcome.ticket == refused ? "audit_record" : "stored");
  }
  EXPECT_EQ(stored_ids(), (std::vector<std::string>{"first", "one", "two"}));
}

TEST_F(GroupCommitTest, AnEndThatIsNotReachedInTimeIsSaidAndNotWaitedFor) {
  append({started_record("zero")});
  Ear ear;
  const auto writer = start(ear.notify());
  ear.hold(true);
  writer->append(started_record("one"));
  ear.wait_for(1);
  const auto late = writer->finish(after(0));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().kind, ErrorKind::local_io);
  EXPECT_EQ(late.error().code, "audit_write");
  EXPECT_THAT(late.error().message, HasSubstr(store().string()));
  ear.hold(false);
  EXPECT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

TEST_F(GroupCommitTest, WhatComesAfterTheEndIsRefused) {
  Ear ear;
  const auto writer = start(ear.notify());
  ASSERT_TRUE(writer->finish(kNoDeadline).has_value());
  writer->append(started_record("late"));
  EXPECT_EQ(codes_of(writer->take_outcomes()), std::vector<std::string>{"audit_record"});
  EXPECT_EQ(ear.heard(), 1);
  EXPECT_EQ(expect_intact_chain(store()), 0);
}

TEST_F(GroupCommitTest, WithoutAThreadItIsRefused) {
  append({});
  Child child([this] {
    auto log = AuditLog::open(store(), Durability::best_effort);
    if (!log.has_value()) return 2;
    become_ordinary_user();
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return 3;
    const auto writer = GroupCommit::start(std::move(*log), [] {});
    if (writer.has_value()) return 4;
    EXPECT_EQ(writer.error().code, "audit_open");
    EXPECT_THAT(writer.error().message, HasSubstr(store().string()));
    return HasFailure() ? kFailed : 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

// The write that hits the limit kills the process in the middle of the second transaction.
TEST_F(GroupCommitTest, AProcessKilledWithinATransactionLeavesTheOnesBefore) {
  Child child([this] {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGXFSZ, SIG_DFL);
    Ear ear;
    const auto writer = start(ear.notify());
    queue_as_one(*writer, ear, names("", 1, kMany));
    limit_file_size(kSmallFile);
    ear.hold(false);
    ear.wait_for(2);
    return kFailed;
  });
  EXPECT_EQ(child.wait(), kSignalBase + SIGXFSZ);
  EXPECT_EQ(stored_ids(), std::vector<std::string>{"first"});
  append({started_record("later")});
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

/// Reads until `bytes` have come, each of which stands for a stored record.
void await_bytes(int descriptor, int bytes) {
  std::array<char, 1> one{};
  for (int read_bytes = 0; read_bytes < bytes; ++read_bytes) {
    ASSERT_EQ(read(descriptor, one.data(), one.size()), 1);
  }
}

class KilledWriterTest : public GroupCommitTest, public testing::WithParamInterface<int> {};

// Killed at whatever it is doing once so many records are known to be stored.
TEST_P(KilledWriterTest, LeavesAPrefixOfItsQueueWithAllThatItHasHeardOf) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto ids = names("", 1, 2 * kMany);
  {
    Child child([this, &ids, &ends] {
      GroupCommit* heard_by = nullptr;
      const auto tell = [&heard_by, &ends] {
        const std::string bytes(heard_by->take_outcomes().size(), '+');
        static_cast<void>(write(ends[1], bytes.data(), bytes.size()));
      };
      const auto writer = start(tell);
      heard_by = writer.get();
      append_all(*writer, ids);
      return pause();
    });
    close(ends[1]);
    await_bytes(ends[0], GetParam());
    child.kill();
    EXPECT_EQ(child.wait(), kSignalBase + SIGKILL);
  }
  close(ends[0]);
  const auto count = expect_intact_chain(store());
  EXPECT_GE(count, GetParam());
  ASSERT_LE(count, static_cast<std::int64_t>(ids.size()));
  EXPECT_EQ(stored_ids(), names("", 1, static_cast<int>(count)));
  append({finished_record("later")});
  EXPECT_EQ(expect_intact_chain(store()), count + 1);
}

INSTANTIATE_TEST_SUITE_P(Records, KilledWriterTest, testing::Values(1, 2, kMany));

// B170
TEST_F(GroupCommitTest, ThreeProcessesAtOnceWriteOneChainEachInItsOrder) {
  // Few enough that on a busy machine none waits longer for the others than the store allows.
  constexpr int kEach = 60;
  const auto statuses = run_together(3, [this](int process) {
    Ear ear;
    const auto writer = start(ear.notify(), Durability::required);
    append_all(*writer, names(std::to_string(process) + "-", 1, kEach));
    EXPECT_TRUE(writer->finish(after(kGuardSeconds)).has_value());
    const auto outcomes = writer->take_outcomes();
    EXPECT_EQ(outcomes.size(), std::size_t{kEach});
    EXPECT_THAT(codes_of(outcomes), Each("stored"));
    return HasFailure() ? kFailed : 0;
  });
  EXPECT_THAT(statuses, Each(0));
  EXPECT_EQ(expect_intact_chain(store()), 3 * kEach);
  std::array<std::vector<std::string>, 3> each;
  for (const auto& id : stored_ids()) each.at(static_cast<std::size_t>(id[0] - '0')).push_back(id);
  for (int process = 0; process < 3; ++process) {
    EXPECT_EQ(each.at(static_cast<std::size_t>(process)),
              names(std::to_string(process) + "-", 1, kEach));
  }
}

}  // namespace
}  // namespace sshx::audit
