#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "audit/record.h"
#include "audit/sqlite.h"
#include "core/result.h"

namespace sshx::audit {

/// The layout that this program writes; a store with a higher one is refused.
inline constexpr std::int64_t kSchemaVersion = 1;

/// How SQLite makes a commit atomic.
enum class Journal : std::uint8_t {
  wal,       ///< Readers and the writer do not wait for each other.
  rollback,  ///< Works wherever files can be locked.
};

/// WAL, unless `folder` is on a network file system, where processes on other machines would not
/// share the WAL's index, or on one that cannot map files into shared memory. Writes (and removes)
/// a file in the folder to find out.
[[nodiscard]] Journal usable_journal(const std::filesystem::path& folder);

/// Who the open store is; nothing when the file holds no store yet. Returns: config
/// (`audit_version`), local_io
/// (`not_a_database`: the file is some other program's), and those of sqlite.h.
[[nodiscard]] Result<std::optional<StoreIdentity>> read_identity(Db& db);

/// Makes an empty file a store, unless another process has done so meanwhile; returns who it is.
/// Waits for the others. Returns: as read_identity.
[[nodiscard]] Result<StoreIdentity> create_store(Db& db, Journal journal);

}  // namespace sshx::audit
