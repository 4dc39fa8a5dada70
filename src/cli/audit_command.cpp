#include "cli/audit_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "audit/audit_log.h"
#include "audit/documents.h"
#include "cli/columns.h"
#include "cli/table.h"
#include "core/paths.h"
#include "core/request.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

using audit::AuditLog;
using audit::Filter;
using audit::QueryAnswer;

constexpr std::size_t kCommandColumns = 48;

Result<std::filesystem::path> store_path(const Presentation& presentation) {
  if (presentation.audit_db.empty()) return audit_database_path();
  return std::filesystem::path(presentation.audit_db);
}

std::optional<std::string> text_of(const Json& request, const char* name) {
  if (!request.contains(name)) return std::nullopt;
  return request[name].get<std::string>();
}

Status set_time(const Invocation& invocation, const char* name, std::optional<WallTime>& time) {
  const auto text = text_of(invocation.request, name);
  if (!text) return {};
  auto parsed = parse_time(*text, std::chrono::system_clock::now());
  if (!parsed) {
    auto error = std::move(parsed).error();
    error.message = fmt::format(
        "{}: {}", property_label(*find_property(*invocation.operation, name)), error.message);
    return error;
  }
  time = *parsed;
  return {};
}

/// Whether hosts with the name and groups that a record has may be used; a literal address has
/// none.
bool admits_recorded(const inventory::Reach& reach, const Json& target) {
  if (!target.is_object() || !target.contains("alias") || !target["alias"].is_string())
    return false;
  std::vector<std::string> groups;
  for (const auto& group : target.value("groups", Json::array())) {
    if (group.is_string()) groups.push_back(group.get<std::string>());
  }
  return reach.admits(target["alias"].get<std::string>(), groups);
}

Result<Filter> filter_of(const Invocation& invocation) {
  const Json& request = invocation.request;
  Filter filter;
  SSHX_CHECK(set_time(invocation, "since", filter.since));
  SSHX_CHECK(set_time(invocation, "until", filter.until));
  filter.target = text_of(request, "target");
  filter.operation = text_of(request, "operation");
  filter.execution_id = text_of(request, "execution_id");
  filter.run_id = text_of(request, "run_id");
  filter.request_id = text_of(request, "request_id");
  filter.error_kind = text_of(request, "error_kind");
  filter.limit = request.at("limit");
  if (const auto& reach = invocation.presentation.confinement.reach; reach.is_limited())
    filter.admits = [&reach](const Json& target) { return admits_recorded(reach, target); };
  return filter;
}

/// A value of an event as text; "-" for null.
std::string shown(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : dump_json(value);
}

std::string target_text(const Json& target) {
  if (!target["alias"].is_null()) return shown(target["alias"]);
  return fmt::format("{}@{} port {}", shown(target["user"]), shown(target["address"]),
                     shown(target["port"]));
}

/// What the command ended with: its status, its signal, or why sshx failed.
std::string exit_text(const Json& event) {
  if (!event["signal"].is_null()) return "SIG" + shown(event["signal"]);
  if (event["exit_code"].is_null()) return "-";
  if (event["exit_code"] == -1 && !event["error_kind"].is_null()) return shown(event["error_kind"]);
  return shown(event["exit_code"]);
}

std::string shortened(const std::string& text) {
  if (columns_of(text) <= kCommandColumns) return text;
  return std::string(cut_to_columns(text, kCommandColumns - 3)) + "...";
}

std::string events_table(const std::vector<Json>& events) {
  if (events.empty()) return {};
  Table table({"STARTED", "OUTCOME", "TARGET", "EXIT", "MS", "OPERATION", "COMMAND", "EXECUTION"});
  for (const auto& event : events) {
    table.add({shown(event["started_at"]), shown(event["outcome"]), target_text(event["target"]),
               exit_text(event), shown(event["duration_ms"]), shown(event["operation"]),
               shortened(shown(event["command"])), shown(event["execution_id"])});
  }
  return table.text();
}

std::string event_sheet(const Json& event) {
  Table table({"execution_id", printable(shown(event["execution_id"]))});
  for (const auto& [name, value] : event.items()) {
    if (value.is_null() || name == "records" || name == "execution_id") continue;
    table.add({name, name == "target" ? target_text(value) : shown(value)});
  }
  return table.text();
}

Result<int> answer_with(const Invocation& invocation, Terminal& terminal, const QueryAnswer& answer,
                        std::string_view text) {
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(audit::query_document(answer)) + "\n"));
    return 0;
  }
  // Doubts about the evidence are part of the answer, so --quiet does not hide them.
  for (const auto& warning : answer.warnings) terminal.warn(warning);
  SSHX_CHECK(terminal.out(text));
  return 0;
}

/// The store's answer. A default store that is not there yet holds no executions; one that was
/// named must exist.
Result<QueryAnswer> query_store(const Invocation& invocation, const Filter& filter) {
  SSHX_TRY(const auto path, store_path(invocation.presentation));
  auto store = AuditLog::open_read_only(path);
  if (store) return store->query(filter);
  if (store.error().code != "not_found" || !invocation.presentation.audit_db.empty())
    return store.error();
  QueryAnswer none;
  none.warnings.push_back(
      fmt::format("there is no evidence yet: {} does not exist", path.string()));
  return none;
}

Result<int> query(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const Filter filter, filter_of(invocation));
  SSHX_TRY(const QueryAnswer answer, query_store(invocation, filter));
  return answer_with(invocation, terminal, answer, events_table(answer.events));
}

Result<int> show(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, store_path(invocation.presentation));
  SSHX_TRY(const AuditLog store, AuditLog::open_read_only(path));
  QueryAnswer answer;
  SSHX_TRY(Json event, store.show(invocation.request.at("execution_id").get<std::string>()));
  const auto sheet = event_sheet(event);
  answer.events.push_back(std::move(event));
  return answer_with(invocation, terminal, answer, sheet);
}

}  // namespace

Result<int> run_audit_command(const Invocation& invocation, Terminal& terminal) {
  return invocation.operation->name == "audit.show" ? show(invocation, terminal)
                                                    : query(invocation, terminal);
}

}  // namespace sshx::cli
