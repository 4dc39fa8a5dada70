#include "audit/documents.h"

namespace sshx::audit {

Json query_document(const QueryAnswer& answer) {
  Json document = Json::object();
  document["schema_version"] = "sshx.audit.query.v1";
  document["success"] = true;
  document["count"] = answer.events.size();
  document["events"] = answer.events;
  document["skipped_records"] = answer.skipped_records;
  document["warnings"] = answer.warnings;
  return document;
}

}  // namespace sshx::audit
