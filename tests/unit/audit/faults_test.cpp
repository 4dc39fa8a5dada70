#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>

#include "audit/schema.h"
#include "unit/audit/scratch.h"

namespace sshx::audit {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void write_file(const std::filesystem::path& file, std::string_view content) {
  std::ofstream(file) << content;
}

void expect_open_fails(const std::filesystem::path& store, ErrorKind kind,
                       const std::string& code) {
  const auto log = AuditLog::open(store, Durability::best_effort);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().kind, kind);
  EXPECT_EQ(log.error().code, code);
  EXPECT_THAT(log.error().message, HasSubstr(store.string()));
  EXPECT_THAT(log.error().hint, Not(IsEmpty()));
}

/// A process that stops itself while it holds the write lock.
class StoppedWriter {
 public:
  explicit StoppedWriter(const std::filesystem::path& store)
      : child_([&store] {
          auto db = Db::open(store, Access::read_write);
          auto txn = Txn::begin(*db, Txn::Kind::write);
          static_cast<void>(db->run("INSERT INTO records (sequence, record, hash) SELECT "
                                    "max(sequence) + 1, '{}', 'x' FROM records"));
          return raise(SIGSTOP);
        }) {
    child_.wait_until_stopped();
  }

 private:
  Child child_;
};

/// How many more times the connection would wait for a lock.
int waits_left(Db& db) {
  int waits = 0;
  while (db.wait_for_others()) ++waits;
  return waits;
}

// B170: two records of one run must not wait twice.
TEST_F(AuditTest, WhatWasWaitedForOneLockIsNotWaitedForTheNext) {
  append({started_record("one")});
  const StoppedWriter writer(store());
  auto db = Db::open(store(), Access::read_write);
  ASSERT_TRUE(db.has_value());
  db->wait_at_most(std::chrono::milliseconds(50));
  const auto blocked = Txn::begin(*db, Txn::Kind::write);
  ASSERT_FALSE(blocked.has_value());
  EXPECT_EQ(blocked.error().code, "audit_locked");
  EXPECT_EQ(waits_left(*db), 0);
  db->wait_at_most(std::chrono::milliseconds(50));
  EXPECT_GT(waits_left(*db), 0);
}

// B171
TEST_F(AuditTest, AStoppedWriterMakesTheOthersGiveUpNotHang) {
  append({started_record("one")});
  auto log = AuditLog::open(store(), Durability::best_effort);
  {
    const StoppedWriter writer(store());
    const auto status = log->append(finished_record("one"));
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().kind, ErrorKind::busy);
    EXPECT_EQ(status.error().code, "audit_locked");
    EXPECT_THAT(status.error().message, HasSubstr(store().string()));
  }
  EXPECT_TRUE(log->append(finished_record("one")).has_value());
  EXPECT_EQ(expect_intact_chain(store()), 2);
}

// B171
TEST_F(AuditTest, AStoppedWriterKeepsNobodyFromOpeningAndReading) {
  append({started_record("one")});
  const StoppedWriter writer(store());
  const auto log = AuditLog::open(store(), Durability::required);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->query({})->events.size(), 1U);
  EXPECT_EQ(query().events.size(), 1U);
}

// B171
TEST_F(AuditTest, AProcessStoppedBeforeTheStoreIsMadeKeepsNobodyForEver) {
  write_file(store(), "");
  Child child([this] {
    auto db = Db::open(store(), Access::read_write);
    auto txn = Txn::begin(*db, Txn::Kind::exclusive);
    return raise(SIGSTOP);
  });
  child.wait_until_stopped();
  expect_open_fails(store(), ErrorKind::busy, "audit_locked");
}

// B173
TEST_F(AuditTest, AFullDiskIsReportedAndLosesNothingThatWasAccepted) {
  append({started_record("first")});
  Child child([this] {
    std::signal(SIGXFSZ, SIG_IGN);
    constexpr rlim_t kBytes = 400000;
    const rlimit limit{kBytes, kBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto log = AuditLog::open(store(), Durability::best_effort);
    for (int index = 0; index < 1000; ++index) {
      const auto status = log->append(started_record(std::to_string(index)));
      if (!status.has_value()) return status.error().code == "no_space" ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(child.wait(), 0);
  const auto before = expect_intact_chain(store());
  EXPECT_GT(before, 1);
  append({finished_record("first")});
  EXPECT_EQ(expect_intact_chain(store()), before + 1);
}

// B173
TEST_F(AuditTest, AFolderThatCannotBeMadeIsNamed) {
  write_file(folder() / "file", "not a folder");
  expect_open_fails(folder() / "file" / "audit.db", ErrorKind::local_io, "audit_open");
  expect_open_fails("/proc/no-such-process/audit.db", ErrorKind::local_io, "audit_open");
}

// B173
TEST_F(AuditTest, AStoreThatCannotBeWrittenIsRefusedAtOnce) {
  append({started_record("one")});
  for (const auto* suffix : {"", "-wal", "-shm"}) chmod(store_file(suffix).c_str(), 0444);
  chmod(folder().c_str(), 0555);
  Child child([this] {
    become_ordinary_user();
    expect_open_fails(store(), ErrorKind::local_io, "read_only");
    return HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(AuditTest, AStoreThatOthersMayWriteIsRefused) {
  append({started_record("one")});
  for (const auto* suffix : {"", "-wal", "-shm"}) {
    chmod(store_file(suffix).c_str(), 0622);
    const auto log = AuditLog::open(store(), Durability::best_effort);
    ASSERT_FALSE(log.has_value()) << suffix;
    EXPECT_EQ(log.error().kind, ErrorKind::config);
    EXPECT_EQ(log.error().code, "unsafe_permissions");
    EXPECT_THAT(log.error().hint, HasSubstr("chmod go-w"));
    chmod(store_file(suffix).c_str(), 0600);
  }
  EXPECT_EQ(query().events.size(), 1U);
}

TEST_F(AuditTest, AFolderThatOthersMayWriteIsRefusedUnlessItIsSticky) {
  chmod(folder().c_str(), 0777);
  expect_open_fails(store(), ErrorKind::config, "unsafe_permissions");
  EXPECT_FALSE(std::filesystem::exists(store()));
  chmod(folder().c_str(), 01777);
  append({started_record("one")});
  EXPECT_EQ(expect_intact_chain(store()), 1);
}

TEST_F(AuditTest, AStoreOfANewerSshxIsLeftAlone) {
  append({started_record("one")});
  run_sql("PRAGMA user_version = 2");
  expect_open_fails(store(), ErrorKind::config, "audit_version");
  const auto log = AuditLog::open_read_only(store());
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code, "audit_version");
}

TEST_F(AuditTest, AnotherProgramsDatabaseIsLeftAlone) {
  write_file(store(), "");
  run_sql("CREATE TABLE songs (title TEXT)");
  expect_open_fails(store(), ErrorKind::local_io, "audit_open");
  EXPECT_EQ(sql_integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(AuditTest, AFileThatIsNoDatabaseIsLeftAlone) {
  const std::string letter(4096, 'a');
  write_file(store(), letter);
  expect_open_fails(store(), ErrorKind::local_io, "audit_open");
  EXPECT_EQ(std::filesystem::file_size(store()), letter.size());
}

TEST_F(AuditTest, AFifoIsRefusedWithoutWaitingForItsOtherEnd) {
  mkfifo(store().c_str(), 0600);
  expect_open_fails(store(), ErrorKind::local_io, "audit_open");
  EXPECT_FALSE(AuditLog::open_read_only(store()).has_value());
}

TEST_F(AuditTest, ALinkedStoreIsCheckedWhereItReallyIs) {
  const auto real = folder() / "real";
  std::filesystem::create_directory(real);
  std::filesystem::permissions(real, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(real / "audit.db", store());
  append({started_record("one")});
  EXPECT_TRUE(std::filesystem::exists(real / "audit.db-wal"));
  chmod((real / "audit.db-wal").c_str(), 0622);
  const auto log = AuditLog::open(store(), Durability::best_effort);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code, "unsafe_permissions");
}

TEST_F(AuditTest, AnEmptyFileBecomesAStore) {
  write_file(store(), "");
  chmod(store().c_str(), 0600);
  append({started_record("one")});
  EXPECT_EQ(expect_intact_chain(store()), 1);
}

TEST_F(AuditTest, WorksWithARollbackJournalWhereThereIsNoWal) {
  write_file(store(), "");
  {
    auto db = Db::open(store(), Access::read_write);
    ASSERT_TRUE(create_store(*db, Journal::rollback).has_value());
  }
  append({started_record("one"), finished_record("one")});
  EXPECT_FALSE(std::filesystem::exists(store_file("-wal")));
  EXPECT_EQ(expect_intact_chain(store()), 2);
  const auto answer = query();
  EXPECT_EQ(answer.events.size(), 1U);
  EXPECT_THAT(answer.warnings, IsEmpty());
}

TEST_F(AuditTest, AWalIsUsableOnAnOrdinaryFileSystemAndTryingLeavesNothing) {
  EXPECT_EQ(usable_journal(folder()), Journal::wal);
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
  EXPECT_EQ(usable_journal(folder() / "missing"), Journal::rollback);
}

}  // namespace
}  // namespace sshx::audit
