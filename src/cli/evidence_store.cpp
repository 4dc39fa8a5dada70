#include "cli/evidence_store.h"

#include <cstdlib>
#include <string_view>

#include "core/paths.h"

namespace sshx::cli {
namespace {

constexpr double kLastRecordsSeconds = 5;

exec::AuditMode audit_mode(const Presentation& presentation) {
  if (presentation.audit == "off") return exec::AuditMode::off;
  return presentation.audit == "required" ? exec::AuditMode::required
                                          : exec::AuditMode::best_effort;
}

/// sshx mcp says that it called; anything else is the command line.
exec::Entry entry() {
  // Read once at start-up; nothing in this process changes the environment.
  const char* name = std::getenv("SSHX_ENTRY");  // NOLINT(concurrency-mt-unsafe)
  return name != nullptr && std::string_view(name) == "mcp" ? exec::Entry::mcp : exec::Entry::cli;
}

Result<audit::AuditLog> open_store(const Presentation& presentation, exec::AuditMode mode) {
  SSHX_TRY(const auto path, presentation.audit_db.empty() ? audit_database_path()
                                                          : expand_home(presentation.audit_db));
  const auto durability = mode == exec::AuditMode::required ? audit::Durability::required
                                                            : audit::Durability::best_effort;
  return audit::AuditLog::open(path, durability);
}

/// The open store, where evidence is wanted and there is one; `options` say so.
std::optional<audit::AuditLog> opened(const Presentation& presentation, exec::RunOptions& options) {
  options.audit = audit_mode(presentation);
  options.entry = entry();
  if (options.audit == exec::AuditMode::off) return std::nullopt;
  auto store = open_store(presentation, options.audit);
  if (store) return std::move(*store);
  options.audit_failure = std::move(store).error();
  return std::nullopt;
}

}  // namespace

void EvidenceStore::attach(const Presentation& presentation, exec::RunOptions& options) {
  auto store = opened(presentation, options);
  if (store) options.sink = &sink_.emplace(std::move(*store));
}

void EvidenceStore::attach_queue(const Presentation& presentation, exec::RunOptions& options) {
  auto store = opened(presentation, options);
  if (store) options.queue = &queue_.emplace(std::move(*store));
}

Status EvidenceStore::finish() {
  if (!queue_) return {};
  return queue_->finish(after(kLastRecordsSeconds));
}

}  // namespace sshx::cli
