#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace sshx::audit {

/// Who a store is; fixed when it is created.
struct StoreIdentity {
  std::string store_id;
  /// The layout it was created with.
  std::int64_t schema_version = 0;
  /// RFC 3339.
  std::string created_at;
};

/// The newest end of the chain: what the next record is tied to.
struct ChainTip {
  std::int64_t sequence = 0;
  std::string hash;
};

/// A row of the store: the canonical JSON of a record, and its hash.
struct StoredRecord {
  std::int64_t sequence = 0;
  std::string text;
  std::string hash;
};

/// Whether a record says what the store needs to know of it: `event` and `execution_id`. Returns:
/// internal (`audit_record`).
[[nodiscard]] Status check_record(const Json& record);

/// The `previous_hash` of a store's first record: sha256_label of the canonical JSON {created_at,
/// schema_version, store_id}. So the chain also vouches for who the store says it is
/// (docs/adr/0005-audit-chain.md).
[[nodiscard]] std::string genesis_hash(const StoreIdentity& store);

/// The tip of a store without records.
[[nodiscard]] ChainTip genesis(const StoreIdentity& store);

/// `record` as the store keeps it after `tip`: with schema_version, store_id, sequence,
/// previous_hash and recorded_at (RFC 3339) set, canonical (RFC 8785), and hashed.
[[nodiscard]] StoredRecord seal(Json record, const StoreIdentity& store, const ChainTip& tip,
                                std::string_view recorded_at);

/// Whether a row is what was once stored: its hash is that of its text, and the text (`content`,
/// parsed) names this store and this sequence. It says nothing about the rows before and after.
[[nodiscard]] bool is_intact(const StoredRecord& row, const Json& content,
                             const StoreIdentity& store);

/// The record as it leaves the store (sshx.audit.record.v1): `content` with the row's `hash`.
[[nodiscard]] Json record_document(const StoredRecord& row, Json content);

}  // namespace sshx::audit
