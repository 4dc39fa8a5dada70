#include "audit/schema.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/text.h"

namespace sshx::audit {
namespace {

/// "sshx" in ASCII: tells our file from any other SQLite database (file(1) shows it).
constexpr std::int64_t kApplicationId = 0x73736878;

/// A column that is generated from the record, so that a search looks at nothing that the hash does
/// not cover. In a record that an edit made invalid it is NULL; records_unreadable finds those.
struct Column {
  std::string_view name;
  std::string_view path;
};

constexpr std::array<Column, 9> kColumns{{
    {"event", "$.event"},
    {"execution_id", "$.execution_id"},
    {"run_id", "$.run_id"},
    {"request_id", "$.request_id"},
    {"operation", "$.operation"},
    {"target_alias", "$.target.alias"},
    {"target_address", "$.target.address"},
    {"error_kind", "$.error_kind"},
    {"started_at", "$.started_at"},
}};

constexpr std::string_view kStoreTable = R"sql(
CREATE TABLE store (
  store_id TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  created_at TEXT NOT NULL
);
)sql";

/// records_search holds all that a search looks at, in the order of the answer: a pass over it
/// parses no JSON, and it costs one page to write where an index for each column costs one each.
/// Triggers guard against accidents; against an owner who drops them there is the chain.
constexpr std::string_view kIndexesAndTriggers = R"sql(
CREATE INDEX records_search ON records (sequence, event, started_at, operation, target_alias,
  target_address, execution_id, run_id, request_id);
CREATE INDEX records_execution ON records (execution_id, event);
CREATE INDEX records_error ON records (error_kind, execution_id) WHERE error_kind IS NOT NULL;
CREATE INDEX records_unreadable ON records (sequence) WHERE event IS NULL OR execution_id IS NULL;
CREATE TRIGGER store_one_row BEFORE INSERT ON store WHEN EXISTS (SELECT 1 FROM store)
BEGIN SELECT RAISE(ABORT, 'the store has its identity'); END;
CREATE TRIGGER store_no_update BEFORE UPDATE ON store
BEGIN SELECT RAISE(ABORT, 'the identity of the store is fixed'); END;
CREATE TRIGGER store_no_delete BEFORE DELETE ON store
BEGIN SELECT RAISE(ABORT, 'the identity of the store is fixed'); END;
CREATE TRIGGER records_in_sequence BEFORE INSERT ON records
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM records)
BEGIN SELECT RAISE(ABORT, 'records are added at the end only'); END;
CREATE TRIGGER records_no_update BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_no_delete BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
)sql";

/// statfs(2) magic numbers of file systems that several machines may use at once.
constexpr std::array<unsigned long, 10> kNetworkFileSystems{
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x01021997,  // 9P
    0x00C36400,  // Ceph
    0x5346414F,  // AFS
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x65735546,  // FUSE, sshfs among them
};

bool is_network_file_system(const std::filesystem::path& folder) {
  struct statfs facts {};

  if (statfs(folder.c_str(), &facts) != 0) return false;
  const auto magic = static_cast<unsigned long>(facts.f_type) & 0xFFFFFFFFUL;
  return std::ranges::find(kNetworkFileSystems, magic) != kNetworkFileSystems.end();
}

/// Once a file is marked as WAL, SQLite cannot open it where its index cannot be mapped: so this is
/// tried before.
bool can_map_shared_files(const std::filesystem::path& folder) {
  constexpr std::size_t kSize = 4096;
  std::string name = (folder / ".sshx-XXXXXX").string();
  const UniqueFd file(mkstemp(name.data()));
  if (!file) return false;
  unlink(name.c_str());
  if (ftruncate(file.get(), kSize) != 0) return false;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, kSize);
  return true;
}

/// SQLite answers busy at once, without asking the busy handler, when another process changes the
/// journal mode too.
Status switch_to_wal(Db& db) {
  while (true) {
    const auto mode = db.read_text("PRAGMA journal_mode = WAL");
    if (mode.has_value()) return {};
    if (mode.error().kind != ErrorKind::busy || !db.wait_for_others()) return mode.error();
  }
}

std::string layout() {
  std::string columns = "sequence INTEGER PRIMARY KEY, record TEXT NOT NULL, hash TEXT NOT NULL";
  for (const auto& [name, json_path] : kColumns) {
    columns += fmt::format(
        ", {} TEXT AS (CASE WHEN json_valid(record) THEN json_extract(record, '{}') END) VIRTUAL",
        name, json_path);
  }
  return fmt::format("{}CREATE TABLE records ({});{}", kStoreTable, columns, kIndexesAndTriggers);
}

Result<StoreIdentity> write_identity(Db& db) {
  const StoreIdentity store{new_id(), kSchemaVersion, rfc3339(std::chrono::system_clock::now())};
  SSHX_CHECK(db.run(layout()));
  SSHX_TRY(Stmt insert,
           db.prepare("INSERT INTO store (store_id, schema_version, created_at) VALUES (?, ?, ?)"));
  SSHX_CHECK(
      insert.use().bind(store.store_id).bind(store.schema_version).bind(store.created_at).run());
  SSHX_CHECK(db.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                kApplicationId, kSchemaVersion)));
  return store;
}

/// What read_identity does, inside a transaction.
Result<std::optional<StoreIdentity>> identity_in_txn(Db& db) {
  SSHX_TRY(const auto application_id, db.read_integer("PRAGMA application_id"));
  SSHX_TRY(const auto version, db.read_integer("PRAGMA user_version"));
  if (application_id != kApplicationId) {
    SSHX_TRY(const auto objects, db.read_integer("SELECT count(*) FROM sqlite_schema"));
    if (application_id == 0 && version == 0 && objects == 0) return std::optional<StoreIdentity>();
    return Error{ErrorKind::local_io, "not_a_database", "it is a database of another program", {}};
  }
  if (version > kSchemaVersion) {
    return config_error("audit_version",
                        fmt::format("it was written by a newer sshx (layout {}, this one knows {})",
                                    version, kSchemaVersion),
                        "use the newer sshx, or another store with --audit-db FILE");
  }
  SSHX_TRY(Stmt select, db.prepare("SELECT store_id, schema_version, created_at FROM store"));
  auto row = select.use();
  SSHX_TRY(const bool found, row.next());
  if (!found) return Error{ErrorKind::local_io, "not_a_database", "its identity is missing", {}};
  return std::optional(StoreIdentity{row.text(0), row.integer(1), row.text(2)});
}

}  // namespace

Journal usable_journal(const std::filesystem::path& folder) {
  return !is_network_file_system(folder) && can_map_shared_files(folder) ? Journal::wal
                                                                         : Journal::rollback;
}

Result<std::optional<StoreIdentity>> read_identity(Db& db) {
  SSHX_TRY(const Txn snapshot, Txn::begin(db, Txn::Kind::read));
  return identity_in_txn(db);
}

Result<StoreIdentity> create_store(Db& db, Journal journal) {
  if (journal == Journal::wal) {
    SSHX_CHECK(switch_to_wal(db));
  }
  SSHX_TRY(Txn txn, Txn::begin(db, Txn::Kind::exclusive));
  SSHX_TRY(const auto existing, identity_in_txn(db));
  if (existing) return *existing;
  SSHX_TRY(auto store, write_identity(db));
  SSHX_CHECK(txn.commit());
  return store;
}

}  // namespace sshx::audit
