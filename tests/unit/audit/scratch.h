#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_log.h"
#include "audit/sqlite.h"
#include "core/json.h"
#include "unit/core/scratch_folder.h"

namespace sshx::audit {

/// A folder of its own for each test.
class AuditTest : public testing::Test {
 protected:
  ~AuditTest() override;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  [[nodiscard]] std::filesystem::path store() const { return folder_ / "audit.db"; }

  [[nodiscard]] std::filesystem::path store_file(std::string_view suffix) const;

  /// Opens the store, appends the records and closes it.
  void append(const std::vector<Json>& records) const;
  [[nodiscard]] QueryAnswer query(const Filter& filter = {}) const;
  /// Runs SQL on the store as its owner may, past every guard of sshx.
  void run_sql(const std::string& sql) const;
  [[nodiscard]] std::int64_t sql_integer(const std::string& sql) const;
  /// Rewrites the text of a record, as an owner who covers something up would.
  void alter(std::int64_t sequence, const std::string& from, const std::string& to) const;

 private:
  test::ScratchFolder folder_;
};

/// The records of one execution, as src/exec writes them.
[[nodiscard]] Json started_record(const std::string& execution_id);
[[nodiscard]] Json finished_record(const std::string& execution_id);
[[nodiscard]] Json failed_record(const std::string& execution_id, const std::string& error_kind);

/// Fails unless the records form an unbroken chain; recomputed from the bytes in the file. Returns
/// how many there are.
[[nodiscard]] std::int64_t expect_intact_chain(const std::filesystem::path& store);

/// Another process that runs `body` and exits with what it returns. Killed, if need be, at the end
/// of its life.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// The exit status; 128+n after signal n.
  [[nodiscard]] int wait();
  /// Waits until the child has stopped itself.
  void wait_until_stopped() const;
  void kill() const;

 private:
  pid_t pid_;
};

/// Runs `bodies` in processes of their own that all begin at the same moment; returns their exit
/// statuses.
[[nodiscard]] std::vector<int> run_together(int processes, const std::function<int(int)>& body);

/// Gives up root's right to write everywhere. For use in a Child.
void become_ordinary_user();

}  // namespace sshx::audit
