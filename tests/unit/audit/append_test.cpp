#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "audit/record.h"
#include "core/sha256.h"
#include "unit/audit/scratch.h"

namespace sshx::audit {
namespace {

using testing::Each;

constexpr int kFailed = 1;

int append_pair(const std::filesystem::path& store, const std::string& id) {
  auto log = AuditLog::open(store, Durability::best_effort);
  if (!log.has_value()) return kFailed;
  if (!log->append(started_record(id)).has_value()) return kFailed;
  return log->append(finished_record(id)).has_value() ? 0 : kFailed;
}

unsigned mode_of(const std::filesystem::path& file) {
  constexpr unsigned kPermissionBits = 07777;

  struct stat facts {};

  EXPECT_EQ(stat(file.c_str(), &facts), 0) << file;
  return facts.st_mode & kPermissionBits;
}

class UmaskScope {
 public:
  explicit UmaskScope(mode_t mask) : before_(umask(mask)) {}

  UmaskScope(const UmaskScope&) = delete;
  UmaskScope& operator=(const UmaskScope&) = delete;

  ~UmaskScope() { umask(before_); }

 private:
  mode_t before_;
};

TEST_F(AuditTest, RecordsFormAChainThatAnyoneCanRecompute) {
  append({started_record("one"), finished_record("one")});
  append({started_record("two")});
  EXPECT_EQ(expect_intact_chain(store()), 3);
}

TEST_F(AuditTest, ARecordNamesItsStoreItsPlaceAndItsTime) {
  append({started_record("one")});
  auto db = Db::open(store(), Access::read_only);
  const auto record =
      parse_json(db->read_text("SELECT record FROM records").value(), "record").value();
  EXPECT_EQ(record["schema_version"], "sshx.audit.record.v1");
  EXPECT_EQ(record["store_id"], db->read_text("SELECT store_id FROM store").value());
  EXPECT_EQ(record["sequence"], 1);
  EXPECT_TRUE(record["recorded_at"].get<std::string>().ends_with("Z"));
  EXPECT_FALSE(record.contains("hash"));
}

TEST_F(AuditTest, TheCallerCannotChooseWhatTheStoreSets) {
  Json forged = started_record("one");
  forged["sequence"] = 99;
  forged["previous_hash"] = sha256_label("mine");
  forged["hash"] = sha256_label("mine too");
  forged["store_id"] = "another";
  append({forged});
  EXPECT_EQ(expect_intact_chain(store()), 1);
  EXPECT_EQ(sql_integer("SELECT count(*) FROM records JOIN store ON json_extract(record, "
                        "'$.store_id') = store_id"),
            1);
}

TEST_F(AuditTest, ARecordThatNamesNoExecutionIsRefused) {
  auto log = AuditLog::open(store(), Durability::best_effort);
  const auto status = log->append(Json{{"event", "started"}});
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::internal);
  EXPECT_EQ(expect_intact_chain(store()), 0);
}

TEST(Seal, DependsOnEverythingBefore) {
  const StoreIdentity store{"id", 1, "2026-12-01T00:00:00.000Z"};
  const auto seal_after = [&store](const ChainTip& tip) {
    return seal(started_record("one"), store, tip, "2026-12-01T00:00:00.000Z").hash;
  };
  EXPECT_EQ(seal_after({1, "sha256:aa"}), seal_after({1, "sha256:aa"}));
  EXPECT_NE(seal_after({1, "sha256:aa"}), seal_after({1, "sha256:ab"}));
  EXPECT_NE(seal_after({1, "sha256:aa"}), seal_after({2, "sha256:aa"}));
  EXPECT_NE(genesis_hash(store), genesis_hash({"id", 1, "2026-12-01T00:00:00.001Z"}));
  EXPECT_NE(genesis_hash(store), genesis_hash({"ie", 1, "2026-12-01T00:00:00.000Z"}));
}

class GuardTest : public AuditTest, public testing::WithParamInterface<const char*> {};

TEST_P(GuardTest, TheStoreIsAppendOnly) {
  append({started_record("one"), finished_record("one")});
  auto db = Db::open(store(), Access::read_write);
  EXPECT_FALSE(db->run(GetParam()).has_value());
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, GuardTest,
    testing::Values("UPDATE records SET hash = 'x' WHERE sequence = 1",
                    "DELETE FROM records WHERE sequence = 2",
                    "INSERT OR REPLACE INTO records (sequence, record, hash) VALUES (2, '{}', 'x')",
                    "INSERT INTO records (sequence, record, hash) VALUES (4, '{}', 'x')",
                    "INSERT INTO records (sequence, record, hash) VALUES (0, '{}', 'x')",
                    "UPDATE store SET store_id = 'x'", "DELETE FROM store",
                    "INSERT INTO store VALUES ('x', 1, 'x')"));

TEST_F(AuditTest, OnlyTheOwnerMayReadTheStore) {
  const auto deep = folder() / "new" / "deeper" / "audit.db";
  const UmaskScope everything_allowed(0);
  auto log = AuditLog::open(deep, Durability::required);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_TRUE(log->append(started_record("one")).has_value());
  for (const auto* suffix : {"", "-wal", "-shm"}) {
    EXPECT_EQ(mode_of(deep.string() + suffix), 0600U) << suffix;
  }
  EXPECT_EQ(mode_of(folder() / "new"), 0700U);
  EXPECT_EQ(mode_of(folder() / "new" / "deeper"), 0700U);
}

TEST_F(AuditTest, TheWriteAheadLogStaysWhenTheLastWriterLeaves) {
  append({started_record("one")});
  EXPECT_GT(std::filesystem::file_size(store_file("-wal")), 0U);
}

// Every process reads all of it when it starts.
TEST_F(AuditTest, TheWriteAheadLogStaysSmall) {
  for (int i = 0; i < 100; ++i) append({started_record("one"), finished_record("one")});
  constexpr std::uintmax_t kLimit = 1U << 20U;
  EXPECT_LT(std::filesystem::file_size(store_file("-wal")), kLimit);
  EXPECT_EQ(expect_intact_chain(store()), 200);
}

TEST_F(AuditTest, BothDurabilitiesWriteOneChain) {
  for (const auto durability : {Durability::best_effort, Durability::required}) {
    auto log = AuditLog::open(store(), durability);
    ASSERT_TRUE(log->append(started_record("one")).has_value());
  }
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

// B170
TEST_F(AuditTest, SixtyFourProcessesLeaveSixtyFourPairs) {
  const auto statuses =
      run_together(64, [this](int index) { return append_pair(store(), std::to_string(index)); });
  EXPECT_THAT(statuses, Each(0));
  EXPECT_EQ(expect_intact_chain(store()), 128);
  const auto answer = query();
  EXPECT_EQ(answer.events.size(), 64U);
  for (const auto& event : answer.events) EXPECT_EQ(event["outcome"], "succeeded");
}

// B170
TEST_F(AuditTest, ThreadsOfSeveralProcessesAppendWithoutAGap) {
  append({});
  const auto statuses = run_together(8, [this](int process) {
    std::vector<int> failures(8, kFailed);
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < failures.size(); ++thread) {
      threads.emplace_back([this, process, thread, &failures] {
        failures[thread] =
            append_pair(store(), std::to_string(process) + "-" + std::to_string(thread));
      });
    }
    threads.clear();
    return static_cast<int>(std::ranges::count(failures, kFailed));
  });
  EXPECT_THAT(statuses, Each(0));
  EXPECT_EQ(expect_intact_chain(store()), 128);
}

// B170
TEST_F(AuditTest, ProcessesThatAllCreateTheStoreAgreeOnOne) {
  const auto statuses = run_together(32, [this](int index) {
    auto log = AuditLog::open(store(), Durability::best_effort);
    return log.has_value() && log->append(started_record(std::to_string(index))).has_value()
               ? 0
               : kFailed;
  });
  EXPECT_THAT(statuses, Each(0));
  EXPECT_EQ(sql_integer("SELECT count(*) FROM store"), 1);
  EXPECT_EQ(expect_intact_chain(store()), 32);
}

TEST_F(AuditTest, AKilledProcessLeavesItsStartedRecord) {
  Child child([this] {
    auto log = AuditLog::open(store(), Durability::best_effort);
    static_cast<void>(log->append(started_record("killed")));
    return raise(SIGKILL);
  });
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
  const auto answer = query();
  ASSERT_EQ(answer.events.size(), 1U);
  EXPECT_EQ(answer.events[0]["outcome"], "unknown");
  EXPECT_EQ(answer.events[0]["finished_sequence"], nullptr);
  append({finished_record("later")});
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

TEST_F(AuditTest, AProcessKilledWithinATransactionLeavesNothing) {
  append({started_record("one")});
  Child child([this] {
    auto db = Db::open(store(), Access::read_write);
    auto txn = Txn::begin(*db, Txn::Kind::write);
    static_cast<void>(
        db->run("INSERT INTO records (sequence, record, hash) VALUES (2, '{}', 'x')"));
    return raise(SIGKILL);
  });
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
  append({finished_record("one")});
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

}  // namespace
}  // namespace sshx::audit
