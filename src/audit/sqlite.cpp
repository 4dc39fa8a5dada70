#include "audit/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace sshx::audit {

namespace {

constexpr int kPrimaryCode = 0xff;
constexpr int kPagesInWal = 128;

/// Random waits that grow keep many writers from waking in step, so that none of them is starved.
bool wait_a_little(LockPatience& patience) {
  constexpr int kShortest = 200;
  constexpr int kLongest = 20000;
  constexpr int kDoublings = 6;
  if (patience.left <= Clock::duration::zero()) return false;
  const int limit = std::min(kLongest, kShortest << std::min(++patience.tries, kDoublings));
  std::uniform_int_distribution<int> micros(kShortest, limit);
  const auto before = Clock::now();
  std::this_thread::sleep_for(std::chrono::microseconds(micros(patience.random)));
  patience.left -= Clock::now() - before;
  return true;
}

int on_busy(void* patience, int tries) {
  auto& waiting = *static_cast<LockPatience*>(patience);
  waiting.tries = tries;
  return wait_a_little(waiting) ? 1 : 0;
}

bool is_full(int code, int system_error) {
  return code == SQLITE_FULL || system_error == ENOSPC || system_error == EDQUOT ||
         system_error == EFBIG;
}

/// Under load SQLite gives up a race for the WAL's read marks with SQLITE_PROTOCOL: also a lock not
/// had in time.
bool is_busy(int code) {
  return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PROTOCOL;
}

std::string_view code_name(int code, int system_error) {
  if (is_full(code, system_error)) return "no_space";
  if (code == SQLITE_READONLY) return "read_only";
  if (code == SQLITE_NOTADB) return "not_a_database";
  if (code == SQLITE_CANTOPEN) return "cannot_open";
  return "sqlite";
}

/// The last error of the operating system on one of the two open files of a database; 0 when there
/// was none.
int last_errno(sqlite3* db, int which_file) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db, "main", which_file, &file);
  int error = 0;
  if (file == nullptr || file->pMethods == nullptr) return error;
  file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

/// The system's reason for an I/O error. What fails in COMMIT is not in sqlite3_system_errno
/// (3.40), only with the file.
int system_errno(sqlite3* db, int code) {
  if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN) return 0;
  if (const int error = sqlite3_system_errno(db); error != 0) return error;
  if (const int error = last_errno(db, SQLITE_FCNTL_JOURNAL_POINTER); error != 0) return error;
  return last_errno(db, SQLITE_FCNTL_FILE_POINTER);
}

Error failure(sqlite3* db, int extended_code) {
  const int code = extended_code & kPrimaryCode;
  if (is_busy(code)) return {ErrorKind::busy, "audit_locked", "another process holds its lock", {}};
  const int system_error = system_errno(db, code);
  std::string message = sqlite3_errmsg(db);
  if (system_error != 0) {
    message += fmt::format(" ({})", std::generic_category().message(system_error));
  }
  return {ErrorKind::local_io, std::string(code_name(code, system_error)), std::move(message), {}};
}

/// SQLite's URI form of an absolute path; every byte that could mean something in a URI is escaped.
std::string to_uri(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

int open_flags(Access access) {
  const int common = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (access == Access::read_write) return common | SQLITE_OPEN_READWRITE;
  if (access == Access::read_only) return common | SQLITE_OPEN_READONLY;
  return common | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
}

const char* begin_sql(Txn::Kind kind) {
  switch (kind) {
  case Txn::Kind::read: return "BEGIN";
  case Txn::Kind::write: return "BEGIN IMMEDIATE";
  case Txn::Kind::exclusive: return "BEGIN EXCLUSIVE";
  }
  return "";
}

}  // namespace

void CloseDb::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

void FinalizeStmt::operator()(sqlite3_stmt* stmt) const noexcept { sqlite3_finalize(stmt); }

void RollBackTxn::operator()(sqlite3* db) const noexcept {
  // Some failures (a full disk) have already rolled back; then there is nothing left to undo.
  if (sqlite3_get_autocommit(db) == 0) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
}

Use::~Use() {
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
}

Use& Use::bind(std::string_view text) {
  const int code = sqlite3_bind_text64(stmt_, ++parameter_, text.data(), text.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Use& Use::bind(std::int64_t number) {
  const int code = sqlite3_bind_int64(stmt_, ++parameter_, number);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Result<bool> Use::next() {
  if (bind_code_ != SQLITE_OK) return failure(sqlite3_db_handle(stmt_), bind_code_);
  const int code = sqlite3_step(stmt_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(sqlite3_db_handle(stmt_), code);
}

Status Use::run() {
  SSHX_CHECK(next());
  return {};
}

std::string Use::text(int column) const {
  const auto* bytes = sqlite3_column_text(stmt_, column);
  if (bytes == nullptr) return {};
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column));
  return {reinterpret_cast<const char*>(bytes), size};
}

std::int64_t Use::integer(int column) const { return sqlite3_column_int64(stmt_, column); }

Db::Db(std::unique_ptr<LockPatience> patience, std::unique_ptr<sqlite3, CloseDb> handle)
    : patience_(std::move(patience)), handle_(std::move(handle)) {}

Result<Db> Db::open(const std::filesystem::path& file, Access access) {
  std::error_code error;
  const auto path = std::filesystem::absolute(file, error).string();
  if (error || path.find('\0') != std::string::npos) {
    return Error{ErrorKind::local_io, "cannot_open", "the path cannot be used", {}};
  }
  const std::string name = access == Access::immutable ? to_uri(path) : path;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, open_flags(access), nullptr);
  std::unique_ptr<sqlite3, CloseDb> handle(raw);
  if (code != SQLITE_OK) return failure(handle.get(), code);
  Db db(std::make_unique<LockPatience>(), std::move(handle));
  SSHX_CHECK(db.configure());
  return db;
}

Status Db::configure() {
  sqlite3* db = handle_.get();
  sqlite3_busy_handler(db, &on_busy, patience_.get());
  // A WAL that stays spares each of many short processes a checkpoint with its fsync at its end.
  int persistent = 1;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persistent);
  // But each process reads all of it when it starts. At SQLite's own 1000 pages that costs up to
  // half as much as everything else that one execution does.
  sqlite3_wal_autocheckpoint(db, kPagesInWal);
  for (const int option : {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, SQLITE_DBCONFIG_DEFENSIVE}) {
    const int code = sqlite3_db_config(db, option, 1, nullptr);
    if (code != SQLITE_OK) return failure(db, code);
  }
  return {};
}

void Db::wait_at_most(std::chrono::milliseconds limit) {
  patience_->left = limit;
  patience_->tries = 0;
}

bool Db::wait_for_others() { return wait_a_little(*patience_); }

Status Db::run(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : failure(handle_.get(), code);
}

Result<Stmt> Db::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), 0, &raw, nullptr);
  if (code != SQLITE_OK) return failure(handle_.get(), code);
  return Stmt(raw);
}

Result<std::string> Db::read_text(std::string_view sql) {
  SSHX_TRY(Stmt stmt, prepare(sql));
  auto row = stmt.use();
  SSHX_CHECK(row.next());
  return row.text(0);
}

Result<std::int64_t> Db::read_integer(std::string_view sql) {
  SSHX_TRY(Stmt stmt, prepare(sql));
  auto row = stmt.use();
  SSHX_CHECK(row.next());
  return row.integer(0);
}

bool Db::is_read_only() const { return sqlite3_db_readonly(handle_.get(), "main") != 0; }

bool Db::is_marked_wal() const {
  // Through SQLite's own descriptor: closing another one would drop the locks of this process. File
  // format §1.3.2.
  constexpr sqlite3_int64 kReadVersionOffset = 19;
  constexpr char kWal = 2;
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr) return false;
  char version = 0;
  return file->pMethods->xRead(file, &version, 1, kReadVersionOffset) == SQLITE_OK &&
         version == kWal;
}

Result<Txn> Txn::begin(Db& db, Kind kind) {
  SSHX_CHECK(db.run(begin_sql(kind)));
  return Txn(db.handle_.get());
}

Status Txn::commit() {
  const int code = sqlite3_exec(db_.get(), "COMMIT", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(db_.get(), code);
  static_cast<void>(db_.release());
  return {};
}

}  // namespace sshx::audit
