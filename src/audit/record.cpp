#include "audit/record.h"

#include <utility>

#include "core/sha256.h"

namespace sshx::audit {
namespace {

bool has_text(const Json& record, const char* name) {
  return record.contains(name) && record[name].is_string();
}

}  // namespace

Status check_record(const Json& record) {
  if (record.is_object() && has_text(record, "event") && has_text(record, "execution_id")) {
    return {};
  }
  return Error{ErrorKind::internal, "audit_record", "a record without event or execution_id", {}};
}

std::string genesis_hash(const StoreIdentity& store) {
  Json identity = Json::object();
  identity["created_at"] = store.created_at;
  identity["schema_version"] = store.schema_version;
  identity["store_id"] = store.store_id;
  return sha256_label(canonical_json(identity));
}

ChainTip genesis(const StoreIdentity& store) { return {0, genesis_hash(store)}; }

StoredRecord seal(Json record, const StoreIdentity& store, const ChainTip& tip,
                  std::string_view recorded_at) {
  StoredRecord row;
  row.sequence = tip.sequence + 1;
  record.erase("hash");
  record["schema_version"] = "sshx.audit.record.v1";
  record["store_id"] = store.store_id;
  record["sequence"] = row.sequence;
  record["recorded_at"] = recorded_at;
  record["previous_hash"] = tip.hash;
  row.text = canonical_json(record);
  row.hash = sha256_label(row.text);
  return row;
}

bool is_intact(const StoredRecord& row, const Json& content, const StoreIdentity& store) {
  return sha256_label(row.text) == row.hash && content.is_object() &&
         content.value("store_id", Json()) == store.store_id &&
         content.value("sequence", Json()) == row.sequence;
}

Json record_document(const StoredRecord& row, Json content) {
  content["hash"] = row.hash;
  return content;
}

}  // namespace sshx::audit
