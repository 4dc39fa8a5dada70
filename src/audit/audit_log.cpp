#include "audit/audit_log.h"

#include <fmt/format.h>

#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include "audit/query.h"
#include "audit/record.h"
#include "audit/schema.h"
#include "audit/sqlite.h"
#include "audit/store_files.h"

namespace sshx::audit {
namespace {

using std::filesystem::path;

constexpr std::chrono::milliseconds kLockWait{2000};
/// Becomes `not_found`, which as another function's answer would speak of another file.
constexpr std::string_view kNoStore = "no_store";

/// What was being done when SQLite failed, for the message and for the code.
struct Doing {
  std::string_view verb;
  std::string_view code;
};

constexpr Doing kOpening{"open", "audit_open"};
constexpr Doing kAppending{"append to", "audit_write"};
constexpr Doing kReading{"read", "audit_read"};

std::string hint_for(const Error& error) {
  if (error.code == "audit_locked") return "try again; a stopped sshx process may hold the lock";
  if (error.code == "no_space")
    return "free space there, or name another store with --audit-db FILE";
  return "name another store with --audit-db FILE";
}

/// Codes of the contract stay; the others become the one of `doing`.
std::string code_for(const Error& error, const Doing& doing) {
  if (error.code == kNoStore) return "not_found";
  const bool stays =
      error.kind != ErrorKind::local_io || error.code == "no_space" || error.code == "read_only";
  return stays ? error.code : std::string(doing.code);
}

/// The reason as an error of this store.
Error explained(Error error, const Doing& doing, const path& file) {
  error.hint = error.hint.empty() ? hint_for(error) : error.hint;
  error.message =
      fmt::format("cannot {} the evidence store {}: {}", doing.verb, file.string(), error.message);
  error.code = code_for(error, doing);
  return error;
}

template <class T>
Result<T> explained(Result<T> result, const Doing& doing, const path& file) {
  if (result.has_value()) return result;
  return explained(std::move(result).error(), doing, file);
}

struct OpenStore {
  Db db;
  StoreIdentity identity;
  Durability durability = Durability::best_effort;
  /// What is odd about the store itself; part of every answer.
  std::vector<std::string> warnings;
};

bool has_no_bytes(const path& file) {
  std::error_code error;
  return std::filesystem::file_size(file, error) == 0 && !error;
}

Result<StoreIdentity> find_or_create(Db& db, const path& file) {
  SSHX_TRY(const auto existing, read_identity(db));
  if (existing) return *existing;
  return create_store(db, usable_journal(store_folder(file)));
}

/// A file that can be read but not written would fail only at the first record.
Status check_writable(const Db& db) {
  if (!db.is_read_only()) return {};
  return Error{ErrorKind::local_io, "read_only", "it cannot be written", {}};
}

std::string durability_sql(Durability durability) {
  return durability == Durability::required ? "PRAGMA synchronous = FULL"
                                            : "PRAGMA synchronous = NORMAL";
}

Result<OpenStore> open_to_append(const path& file, Durability durability) {
  SSHX_TRY(Db db, Db::open(file, Access::read_write));
  SSHX_CHECK(check_writable(db));
  db.wait_at_most(kLockWait);
  SSHX_CHECK(db.run(durability_sql(durability)));
  SSHX_TRY(auto identity, find_or_create(db, file));
  return OpenStore{std::move(db), std::move(identity), durability, {}};
}

Error no_store() {
  return {ErrorKind::local_io, std::string(kNoStore), "there is none yet",
          "the first recorded run makes it; --audit-db FILE names another"};
}

Result<OpenStore> read_store(Db db) {
  db.wait_at_most(kLockWait);
  SSHX_TRY(auto identity, read_identity(db));
  if (!identity) return no_store();
  return OpenStore{std::move(db), *std::move(identity), Durability::best_effort, {}};
}

bool has_no_file(const path& file) {
  std::error_code error;
  return std::filesystem::status(file, error).type() == std::filesystem::file_type::not_found;
}

/// A store without its write-ahead log is a copy, or nobody has written it since it was last
/// cleaned up. Opened in the usual way it would be given a new log, which a read-only folder cannot
/// take and a reader need not leave.
Result<OpenStore> read_snapshot(const path& file) {
  SSHX_TRY(Db db, Db::open(file, Access::immutable));
  SSHX_TRY(auto store, read_store(std::move(db)));
  store.warnings.push_back(fmt::format("{} has no write-ahead log beside it and was read as it "
                                       "lies: records that are only in a log elsewhere are missing",
                                       file.string()));
  return store;
}

Result<OpenStore> open_to_read(const path& file) {
  SSHX_TRY(const bool there, is_store_there(file));
  if (!there) return no_store();
  const path wal = file.string() + "-wal";
  SSHX_TRY(Db db, Db::open(file, Access::read_only));
  if (db.is_marked_wal() && has_no_file(wal)) return read_snapshot(file);
  auto store = read_store(std::move(db));
  if (store.has_value() || store.error().code != "cannot_open") return store;
  if (has_no_bytes(wal)) return read_snapshot(file);
  store.error().hint =
      fmt::format("copy {} and {} to a folder that you can write", file.string(), wal.string());
  return store;
}

/// The newest record's place in the chain.
Result<ChainTip> read_tip(Db& db, const StoreIdentity& identity) {
  SSHX_TRY(Stmt select,
           db.prepare("SELECT sequence, hash FROM records ORDER BY sequence DESC LIMIT 1"));
  auto row = select.use();
  SSHX_TRY(const bool found, row.next());
  if (!found) return genesis(identity);
  return ChainTip{row.integer(0), row.text(1)};
}

/// Appends `record` after `tip`, which becomes the new end of the chain.
Status insert(Stmt& statement, const StoreIdentity& identity, Json record, ChainTip& tip) {
  const auto now = rfc3339(std::chrono::system_clock::now());
  auto row = seal(std::move(record), identity, tip, now);
  SSHX_CHECK(statement.use().bind(row.sequence).bind(row.text).bind(row.hash).run());
  tip = {row.sequence, std::move(row.hash)};
  return {};
}

Status append_in_txn(Db& db, const StoreIdentity& identity, std::span<Json> records) {
  SSHX_TRY(Txn txn, Txn::begin(db, Txn::Kind::write));
  SSHX_TRY(auto tip, read_tip(db, identity));
  SSHX_TRY(Stmt statement,
           db.prepare("INSERT INTO records (sequence, record, hash) VALUES (?, ?, ?)"));
  for (auto& record : records) {
    SSHX_CHECK(insert(statement, identity, std::move(record), tip));
  }
  return txn.commit();
}

}  // namespace

struct AuditLog::State {
  path file;
  OpenStore store;
};

AuditLog::AuditLog(std::unique_ptr<State> state) : state_(std::move(state)) {}

AuditLog::AuditLog(AuditLog&&) noexcept = default;
AuditLog& AuditLog::operator=(AuditLog&&) noexcept = default;
AuditLog::~AuditLog() = default;

Result<AuditLog> AuditLog::open(const path& store_path, Durability durability) {
  const path file = real_store_path(store_path);
  SSHX_CHECK(explained(prepare_store_files(file), kOpening, file));
  SSHX_TRY(auto store, explained(open_to_append(file, durability), kOpening, file));
  return AuditLog(std::make_unique<State>(State{file, std::move(store)}));
}

Result<AuditLog> AuditLog::open_read_only(const path& store_path) {
  const path file = real_store_path(store_path);
  SSHX_TRY(auto store, explained(open_to_read(file), kOpening, file));
  // Reading such a store does no harm; believing it may.
  if (const auto safe = check_store_files(file); !safe.has_value()) {
    store.warnings.push_back(safe.error().message);
  }
  return AuditLog(std::make_unique<State>(State{file, std::move(store)}));
}

const path& AuditLog::file() const noexcept { return state_->file; }

Status AuditLog::append(Json record) { return append_all(std::span(&record, 1)); }

Status AuditLog::append_all(std::span<Json> records) {
  for (const auto& record : records) {
    SSHX_CHECK(check_record(record));
  }
  if (records.empty()) return {};
  auto& store = state_->store;
  if (store.durability == Durability::required) store.db.wait_at_most(kLockWait);
  return explained(append_in_txn(store.db, store.identity, records), kAppending, state_->file);
}

Result<QueryAnswer> AuditLog::query(const Filter& filter) const {
  auto& store = state_->store;
  store.db.wait_at_most(kLockWait);
  SSHX_TRY(auto answer,
           explained(find_executions(store.db, store.identity, filter), kReading, state_->file));
  const auto& doubts = state_->store.warnings;
  answer.warnings.insert(answer.warnings.begin(), doubts.begin(), doubts.end());
  return answer;
}

Result<Json> AuditLog::show(std::string_view execution_id) const {
  auto& store = state_->store;
  store.db.wait_at_most(kLockWait);
  auto found = find_execution(store.db, store.identity, lower_ascii(execution_id));
  if (!found.has_value() && found.error().kind == ErrorKind::config) return found;
  return explained(std::move(found), kReading, state_->file);
}

}  // namespace sshx::audit
