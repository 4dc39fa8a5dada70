#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "core/text.h"

namespace sshx::audit {

enum class Durability : std::uint8_t {
  /// synchronous=NORMAL: survives kill -9, a power cut may lose the last records. Waits for other
  /// writers at most 2 s in all, from open to the last append, so that the evidence never holds an
  /// execution up for longer.
  best_effort,
  /// synchronous=FULL: on disk before the call returns. Each call waits up to 2 s.
  required,
};

/// What a query asks for; unset means any. All set fields must match.
struct Filter {
  /// Started at or after this time.
  std::optional<WallTime> since = std::nullopt;
  /// Started before this time.
  std::optional<WallTime> until = std::nullopt;
  /// Alias or address.
  std::optional<std::string> target = std::nullopt;
  std::optional<std::string> operation = std::nullopt;
  std::optional<std::string> execution_id = std::nullopt;
  std::optional<std::string> run_id = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;
  std::optional<std::string> error_kind = std::nullopt;
  /// Whether executions on a recorded `target` may be shown; unset: all.
  std::function<bool(const Json& target)> admits = {};
  /// At most this many executions, from 1; a warning says when there are more.
  int limit = 100;
};

/// The answer: executions newest first, each the join of its `started` and `finished` records.
struct QueryAnswer {
  std::vector<Json> events;
  /// Records that cannot be read, so are in no event.
  long long skipped_records = 0;
  /// What makes the answer doubtful or incomplete, for people.
  std::vector<std::string> warnings;
};

/// The evidence store: an append-only SQLite table of canonical JSON records, each with store_id,
/// sequence and the hash of the one before it (design §8, docs/adr/0005-audit-chain.md). One writer
/// at a time across processes; readers and writers do not wait for each other. An AuditLog belongs
/// to one thread at a time and must not be used after fork(2).
class AuditLog {
 public:
  /// Opens the store for appending, creating it (0600, its folder 0700) when missing. Opening an
  /// existing store takes no write lock. Waits for the disk, and for others who create the store at
  /// the same time. Returns: local_io (`audit_open`, `no_space`, `read_only`), busy
  /// (`audit_locked`), config (`unsafe_permissions`, `audit_version`).
  [[nodiscard]] static Result<AuditLog> open(const std::filesystem::path& path,
                                             Durability durability);
  /// Opens the store for reading only. Works while a writer holds the lock or is stopped, and in a
  /// read-only folder. Never changes the store, and makes no file where SQLite can do without.
  /// Waits for the disk. Returns: local_io (`not_found`, `audit_open`), busy (`audit_locked`),
  /// config (`audit_version`).
  [[nodiscard]] static Result<AuditLog> open_read_only(const std::filesystem::path& path);

  AuditLog(AuditLog&& other) noexcept;
  AuditLog& operator=(AuditLog&& other) noexcept;
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  /// Where the store really is.
  [[nodiscard]] const std::filesystem::path& file() const noexcept;

  /// Appends one record. `record` holds `event` ("started" or "finished"), `execution_id`, and the
  /// fields of schemas/documents/sshx.audit.record.v1, redacted by the caller: the store knows no
  /// secrets. schema_version, store_id, sequence, recorded_at, previous_hash and hash are set here.
  /// Either all of the record is stored or nothing. Waits for the disk, and for other writers as
  /// `Durability` tells. Returns: local_io (`audit_write`, `no_space`, `read_only`), busy
  /// (`audit_locked`), internal (`audit_record`: it names no event or no execution).
  [[nodiscard]] Status append(Json record);
  /// The same for several records, in their order and as one transaction: all of them are stored or
  /// none. They are used up. Waits and returns as for one.
  [[nodiscard]] Status append_all(std::span<Json> records);

  /// The executions that `filter` selects. Waits for the disk.
  /// Returns: local_io (`audit_read`), busy (`audit_locked`).
  [[nodiscard]] Result<QueryAnswer> query(const Filter& filter) const;
  /// The event of one execution, with its raw records in `records`. `execution_id` is the whole id,
  /// or a unique beginning of 8 characters or more. Waits for the disk. Returns: config
  /// (`unknown_execution`, `ambiguous`), local_io (`audit_read`), busy (`audit_locked`).
  [[nodiscard]] Result<Json> show(std::string_view execution_id) const;

 private:
  struct State;
  explicit AuditLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sshx::audit
