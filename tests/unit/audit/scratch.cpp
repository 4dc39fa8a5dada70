#include "unit/audit/scratch.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>

#include "core/sha256.h"

namespace sshx::audit {
namespace {

constexpr int kSignalBase = 128;
constexpr int kThrew = 99;

/// A child gets the locks of the allocator and the sanitizer as they are, so a thread that an
/// earlier test left behind must not hold one: waits until there is none, within reason.
void wait_for_left_threads() {
  constexpr int kTries = 5000;
  const std::filesystem::path tasks("/proc/self/task");
  for (int i = 0; i < kTries; ++i) {
    const auto threads = std::distance(std::filesystem::directory_iterator(tasks),
                                       std::filesystem::directory_iterator());
    if (threads == 1) return;
    usleep(1000);
  }
}

/// What is left in a buffer would be written twice: by the child too.
pid_t fork_with_empty_buffers() {
  wait_for_left_threads();
  std::fflush(nullptr);
  return fork();
}

Json target() {
  return Json{{"alias", "web-1"},    {"address", "192.0.2.7"},  {"port", 22},
              {"user", "deploy"},    {"groups", Json::array()}, {"tags", Json::object()},
              {"via", Json::array()}};
}

Json common_record(const std::string& execution_id) {
  return Json{{"execution_id", execution_id}, {"run_id", "run-of-" + execution_id},
              {"request_id", nullptr},        {"operation", "run"},
              {"target", target()},           {"started_at", "2026-12-01T10:00:00.000Z"}};
}

}  // namespace

AuditTest::~AuditTest() {
  std::error_code ignored;
  std::filesystem::permissions(folder(), std::filesystem::perms::owner_all, ignored);
}

std::filesystem::path AuditTest::store_file(std::string_view suffix) const {
  return store().string() + std::string(suffix);
}

void AuditTest::append(const std::vector<Json>& records) const {
  auto log = AuditLog::open(store(), Durability::best_effort);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  for (const auto& record : records) {
    const auto status = log->append(record);
    ASSERT_TRUE(status.has_value()) << status.error().message;
  }
}

QueryAnswer AuditTest::query(const Filter& filter) const {
  auto log = AuditLog::open_read_only(store());
  EXPECT_TRUE(log.has_value()) << log.error().message;
  if (!log.has_value()) return {};
  auto answer = log->query(filter);
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer.has_value() ? *answer : QueryAnswer{};
}

void AuditTest::run_sql(const std::string& sql) const {
  auto db = Db::open(store(), Access::read_write);
  ASSERT_TRUE(db.has_value()) << db.error().message;
  const auto status = db->run(sql);
  ASSERT_TRUE(status.has_value()) << status.error().message;
}

std::int64_t AuditTest::sql_integer(const std::string& sql) const {
  auto db = Db::open(store(), Access::read_only);
  EXPECT_TRUE(db.has_value()) << db.error().message;
  const auto value = db->read_integer(sql);
  EXPECT_TRUE(value.has_value()) << value.error().message;
  return value.has_value() ? *value : -1;
}

void AuditTest::alter(std::int64_t sequence, const std::string& from, const std::string& to) const {
  run_sql(fmt::format("DROP TRIGGER IF EXISTS records_no_update;"
                      "UPDATE records SET record = replace(record, '{}', '{}') WHERE sequence = {}",
                      from, to, sequence));
}

Json started_record(const std::string& execution_id) {
  Json record = common_record(execution_id);
  record["event"] = "started";
  record["parent_execution_id"] = nullptr;
  record["entry"] = "cli";
  record["action"] = Json{{"kind", "command"},   {"intent", "unknown"},
                          {"command", "uptime"}, {"payload_sha256", sha256_label("uptime")},
                          {"payload_bytes", 6},  {"stdin_bytes", 0},
                          {"uses_sudo", false}};
  record["plan_hash"] = sha256_label("plan");
  record["risk"] = "mutation";
  record["effects"] = Json::array({"unknown"});
  record["local_user"] = "ada";
  record["sshx_version"] = "0.1.0";
  record["pid"] = 4711;
  return record;
}

Json finished_record(const std::string& execution_id) {
  Json record = common_record(execution_id);
  record["event"] = "finished";
  record["status"] = "succeeded";
  record["phase"] = "complete";
  record["completion"] = "completed";
  record["executed"] = true;
  record["change_state"] = "unknown";
  record["remote_state"] = "exited";
  record["exit_code"] = 0;
  record["signal"] = nullptr;
  record["error"] = nullptr;
  record["error_kind"] = nullptr;
  record["finished_at"] = "2026-12-01T10:00:01.500Z";
  record["duration_ms"] = 1500;
  record["auth_method"] = "publickey";
  record["peers"] = Json::array();
  record["stdout_bytes"] = 62;
  record["stderr_bytes"] = 0;
  record["execution_fingerprint"] = sha256_label("result");
  record["warnings"] = Json::array();
  return record;
}

Json failed_record(const std::string& execution_id, const std::string& error_kind) {
  Json record = finished_record(execution_id);
  record["status"] = "failed";
  record["exit_code"] = -1;
  record["error"] = Json{{"kind", error_kind}, {"code", "refused"}, {"message", "it was refused"}};
  record["error_kind"] = error_kind;
  return record;
}

std::int64_t expect_intact_chain(const std::filesystem::path& store) {
  auto db = Db::open(store, Access::read_only);
  EXPECT_TRUE(db.has_value());
  // Written out by hand on purpose: what an auditor would do who has only
  // docs/adr/0005-audit-chain.md.
  const auto identity =
      db->read_text("SELECT '{\"created_at\":\"' || created_at || '\",\"schema_version\":'"
                    " || schema_version || ',\"store_id\":\"' || store_id || '\"}' FROM store");
  std::string previous = sha256_label(identity.value());
  auto select = db->prepare("SELECT sequence, record, hash FROM records ORDER BY sequence");
  auto row = select->use();
  std::int64_t count = 0;
  while (row.next().value()) {
    const auto record = parse_json(row.text(1), "record").value();
    EXPECT_EQ(row.integer(0), ++count);
    EXPECT_EQ(record["sequence"], count);
    EXPECT_EQ(record["previous_hash"], previous);
    EXPECT_EQ(row.text(1), canonical_json(record));
    previous = sha256_label(row.text(1));
    EXPECT_EQ(row.text(2), previous);
  }
  return count;
}

Child::Child(const std::function<int()>& body) : pid_(fork_with_empty_buffers()) {
  if (pid_ != 0) return;
  // An exception must not unwind into the test runner, which would go on in this process too.
  try {
    const int status = body();
    std::fflush(nullptr);
    _exit(status);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a child process threw %s\n", error.what());
    _exit(kThrew);
  }
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill();
  static_cast<void>(wait());
}

int Child::wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

void Child::wait_until_stopped() const {
  int status = 0;
  ASSERT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
  ASSERT_TRUE(WIFSTOPPED(status)) << "the child ended instead of stopping";
}

void Child::kill() const { ::kill(pid_, SIGKILL); }

std::vector<int> run_together(int processes, const std::function<int(int)>& body) {
  int gate[2] = {-1, -1};
  if (pipe(gate) != 0) std::abort();
  std::vector<std::unique_ptr<Child>> children;
  for (int index = 0; index < processes; ++index) {
    children.push_back(std::make_unique<Child>([&gate, &body, index] {
      close(gate[1]);
      char nothing = 0;
      // Ends when the parent closes the gate.
      static_cast<void>(read(gate[0], &nothing, 1));
      return body(index);
    }));
  }
  close(gate[0]);
  close(gate[1]);
  std::vector<int> statuses;
  for (auto& child : children) statuses.push_back(child->wait());
  return statuses;
}

void become_ordinary_user() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) std::abort();
}

}  // namespace sshx::audit
