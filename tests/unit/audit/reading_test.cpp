#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "unit/audit/scratch.h"

namespace sshx::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Whether an ordinary user can read `expected` executions of the store, with as many warnings.
int read_as_ordinary_user(const std::filesystem::path& store, std::size_t expected,
                          std::size_t warnings) {
  become_ordinary_user();
  const auto log = AuditLog::open_read_only(store);
  if (!log.has_value()) return 2;
  const auto answer = log->query({});
  if (!answer.has_value()) return 3;
  return answer->events.size() == expected && answer->warnings.size() == warnings ? 0 : 4;
}

class ReadingTest : public AuditTest {
 protected:
  /// Nobody can write the store or its folder any more.
  void make_read_only() const {
    for (const auto* suffix : {"", "-wal", "-shm"}) chmod(store_file(suffix).c_str(), 0444);
    chmod(folder().c_str(), 0555);
  }

  /// As sqlite3(1) leaves it: everything in the database file, nothing beside it.
  void fold_log_into_database() const {
    run_sql("PRAGMA wal_checkpoint(TRUNCATE)");
    std::filesystem::remove(store_file("-wal"));
    std::filesystem::remove(store_file("-shm"));
  }
};

TEST_F(ReadingTest, AMissingStoreIsNotFoundAndNotMade) {
  const auto log = AuditLog::open_read_only(store());
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().kind, ErrorKind::local_io);
  EXPECT_EQ(log.error().code, "not_found");
  EXPECT_THAT(log.error().message, HasSubstr(store().string()));
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(ReadingTest, AnEmptyFileHoldsNoStoreAndStaysEmpty) {
  std::ofstream(store()).flush();
  const auto log = AuditLog::open_read_only(store());
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code, "not_found");
  EXPECT_EQ(std::filesystem::file_size(store()), 0U);
}

TEST_F(ReadingTest, AReaderCannotAppend) {
  append({started_record("one")});
  auto log = AuditLog::open_read_only(store());
  const auto status = log->append(finished_record("one"));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "read_only");
  EXPECT_EQ(expect_intact_chain(store()), 1);
}

TEST_F(ReadingTest, AReaderSeesWhatIsAppendedAfterItOpened) {
  append({started_record("one")});
  const auto log = AuditLog::open_read_only(store());
  EXPECT_EQ(log->query({})->events.at(0)["outcome"], "unknown");
  append({finished_record("one")});
  EXPECT_EQ(log->query({})->events.at(0)["outcome"], "succeeded");
}

// B173
TEST_F(ReadingTest, ReadsOnAReadOnlyFileSystem) {
  append({started_record("one"), finished_record("one")});
  make_read_only();
  Child child([this] { return read_as_ordinary_user(store(), 1, 0); });
  EXPECT_EQ(child.wait(), 0);
}

// B173
TEST_F(ReadingTest, ReadsACopyWithoutItsLogInAReadOnlyFolderAndSaysSo) {
  append({started_record("one"), finished_record("one")});
  fold_log_into_database();
  make_read_only();
  Child child([this] { return read_as_ordinary_user(store(), 1, 1); });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(ReadingTest, ReadingACopyWithoutItsLogMakesNoFiles) {
  append({started_record("one"), finished_record("one")});
  fold_log_into_database();
  const auto answer = query();
  EXPECT_EQ(answer.events.size(), 1U);
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("no write-ahead log")));
  EXPECT_FALSE(std::filesystem::exists(store_file("-wal")));
  EXPECT_FALSE(std::filesystem::exists(store_file("-shm")));
}

TEST_F(ReadingTest, ALogThatCannotBeReadInPlaceIsAnErrorWithAWayOut) {
  append({started_record("one")});
  std::filesystem::remove(store_file("-shm"));
  make_read_only();
  Child child([this] {
    become_ordinary_user();
    const auto log = AuditLog::open_read_only(store());
    return !log.has_value() && log.error().code == "audit_open" &&
                   log.error().hint.find("copy") != std::string::npos
               ? 0
               : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(ReadingTest, AStoreThatMayNotBeSeenIsNotCalledMissing) {
  append({started_record("one")});
  chmod(folder().c_str(), 0000);
  Child child([this] {
    become_ordinary_user();
    const auto log = AuditLog::open_read_only(store());
    return !log.has_value() && log.error().code == "audit_open" ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(ReadingTest, APathWithUriCharactersIsAPath) {
  const auto odd = folder() / "50% off?mode=rw#x";
  std::filesystem::create_directory(odd);
  std::filesystem::permissions(odd, std::filesystem::perms::owner_all);
  append({started_record("one")});
  fold_log_into_database();
  std::filesystem::rename(store(), odd / "audit.db");
  const auto log = AuditLog::open_read_only(odd / "audit.db");
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->query({})->events.size(), 1U);
}

TEST_F(ReadingTest, AStoreThatOthersMayWriteIsReadWithAWarning) {
  append({started_record("one")});
  chmod(store().c_str(), 0622);
  EXPECT_THAT(query().warnings, ElementsAre(HasSubstr("may be written by others")));
  chmod(store().c_str(), 0600);
  EXPECT_THAT(query().warnings, IsEmpty());
}

}  // namespace
}  // namespace sshx::audit
