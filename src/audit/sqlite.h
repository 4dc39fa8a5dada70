#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sshx::audit {

// A small RAII layer over SQLite. Everything in it belongs to one thread. Every call may wait for
// the disk; a call that needs a lock waits for it as long as Db::wait_at_most has left it.
// Failures come as
//   busy (`audit_locked`): the lock was not free in time;
//   local_io: `no_space`, `read_only`, `not_a_database`, `cannot_open`, else `sqlite`.
// Their message is SQLite's own reason alone; the caller says what failed and on which file.

/// How a database file is opened.
enum class Access : std::uint8_t {
  read_write,
  read_only,
  /// Reads the file alone and takes no lock: only for a file that nobody writes meanwhile.
  immutable,
};

/// How long a connection still waits for the locks of others. Only the waiting itself counts.
struct LockPatience {
  Clock::duration left{0};
  int tries = 0;
  std::minstd_rand random{std::random_device{}()};
};

struct CloseDb {
  void operator()(sqlite3* db) const noexcept;
};

struct FinalizeStmt {
  void operator()(sqlite3_stmt* stmt) const noexcept;
};

struct RollBackTxn {
  void operator()(sqlite3* db) const noexcept;
};

/// One execution of a statement; resets it and forgets what was bound at the end of its life.
class Use {
 public:
  explicit Use(sqlite3_stmt* stmt) noexcept : stmt_(stmt) {}

  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Use(Use&&) = delete;
  Use& operator=(Use&&) = delete;
  ~Use();

  /// Binds the next parameter, the first one first. The text is copied.
  Use& bind(std::string_view text);
  Use& bind(std::int64_t number);

  /// Goes to the next row; false when there is none.
  [[nodiscard]] Result<bool> next();
  /// Runs a statement that gives no rows.
  [[nodiscard]] Status run();

  /// Columns of the current row, from 0. NULL reads as "" and 0.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;

 private:
  sqlite3_stmt* stmt_;
  int parameter_ = 0;
  int bind_code_ = 0;
};

/// A compiled statement. It must not outlive its Db.
class Stmt {
 public:
  [[nodiscard]] Use use() noexcept { return Use(handle_.get()); }

 private:
  friend class Db;

  explicit Stmt(sqlite3_stmt* handle) noexcept : handle_(handle) {}

  std::unique_ptr<sqlite3_stmt, FinalizeStmt> handle_;
};

/// A connection to one database file.
class Db {
 public:
  /// Opens an existing file; never creates one. The path is taken as absolute.
  [[nodiscard]] static Result<Db> open(const std::filesystem::path& file, Access access);

  /// From now on, locks are waited for `limit` long in all, over any number of calls.
  void wait_at_most(std::chrono::milliseconds limit);
  /// Sleeps a little, as between two tries for a lock; false when the time set by wait_at_most is
  /// used up.
  [[nodiscard]] bool wait_for_others();

  /// Runs statements that take no parameters; rows that they give are dropped.
  [[nodiscard]] Status run(const std::string& sql);
  [[nodiscard]] Result<Stmt> prepare(std::string_view sql);
  /// The first column of the first row.
  [[nodiscard]] Result<std::string> read_text(std::string_view sql);
  [[nodiscard]] Result<std::int64_t> read_integer(std::string_view sql);

  /// Whether SQLite could open the file for reading only.
  [[nodiscard]] bool is_read_only() const;
  /// Whether the file's header says that it is used with a write-ahead log. Takes no lock and makes
  /// no file.
  [[nodiscard]] bool is_marked_wal() const;

 private:
  friend class Txn;
  Db(std::unique_ptr<LockPatience> patience, std::unique_ptr<sqlite3, CloseDb> handle);
  [[nodiscard]] Status configure();

  // SQLite keeps a pointer to the patience: it stays where it is and is destroyed after the handle.
  std::unique_ptr<LockPatience> patience_;
  std::unique_ptr<sqlite3, CloseDb> handle_;
};

/// A transaction; rolled back at the end of its life unless committed.
class Txn {
 public:
  enum class Kind : std::uint8_t {
    read,       ///< One snapshot for several reads.
    write,      ///< Takes the write lock at once: BEGIN IMMEDIATE.
    exclusive,  ///< Keeps readers out too where the journal is not a WAL.
  };

  [[nodiscard]] static Result<Txn> begin(Db& db, Kind kind);
  [[nodiscard]] Status commit();

 private:
  explicit Txn(sqlite3* db) noexcept : db_(db) {}

  std::unique_ptr<sqlite3, RollBackTxn> db_;
};

}  // namespace sshx::audit
