#include "audit/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "audit/event.h"
#include "core/text.h"

namespace sshx::audit {
namespace {

/// An execution is led by its started record, or by its finished one where the first could not be
/// written. The index is named, and `sequence > 0` makes it usable, because SQLite would walk the
/// table and parse every record.
constexpr std::string_view kSelectLeads =
    "SELECT r.sequence, r.record, r.hash, r.event, r.execution_id"
    " FROM records r INDEXED BY records_search WHERE r.sequence > 0 AND (r.event = 'started' OR"
    " (r.event = 'finished' AND NOT EXISTS (SELECT 1 FROM records s WHERE"
    " s.execution_id = r.execution_id AND s.event = 'started')))";
/// Found by its index instead of a pass over all.
constexpr std::string_view kIsExecution =
    "r.sequence IN (SELECT sequence FROM records WHERE execution_id = ?)";

constexpr int kEvent = 3;
constexpr int kExecutionId = 4;

/// What a filter adds to the search: SQL with one `?` for each value.
struct Conditions {
  std::string sql;
  std::vector<std::string> values;

  void add(std::string_view condition, const std::string& value) {
    sql += fmt::format(" AND {}", condition);
    const auto uses = std::ranges::count(condition, '?');
    values.insert(values.end(), static_cast<std::size_t>(uses), value);
  }

  void add_if(std::string_view condition, const std::optional<std::string>& value) {
    if (value) add(condition, *value);
  }
};

Conditions conditions_of(const Filter& filter) {
  Conditions conditions;
  if (filter.since) conditions.add("r.started_at >= ?", rfc3339(*filter.since));
  if (filter.until) conditions.add("r.started_at < ?", rfc3339(*filter.until));
  conditions.add_if("(r.target_alias = ? OR r.target_address = ?)", filter.target);
  conditions.add_if("r.operation = ?", filter.operation);
  conditions.add_if(kIsExecution, filter.execution_id);
  conditions.add_if("r.run_id = ?", filter.run_id);
  conditions.add_if("r.request_id = ?", filter.request_id);
  // Only the finished record knows how it ended.
  conditions.add_if("r.execution_id IN (SELECT execution_id FROM records WHERE error_kind = ?)",
                    filter.error_kind);
  return conditions;
}

/// "3, 7, 9", and how many more there are where they are many.
std::string list_of(const std::vector<std::int64_t>& sequences) {
  constexpr std::size_t kNamed = 10;
  std::vector<std::string> words;
  for (const auto sequence : sequences) words.push_back(std::to_string(sequence));
  return listed(words, kNamed);
}

/// Whether an execution can be told from this record. Everything else in it may be null.
bool is_readable(const Json& content) {
  constexpr std::array<const char*, 5> kNeeded{"event", "execution_id", "run_id", "operation",
                                               "started_at"};
  return content.is_object() && std::ranges::all_of(kNeeded, [&content](const char* name) {
           const auto found = content.find(name);
           return found != content.end() && found->is_string();
         });
}

/// One reading of the store: joins rows into executions and keeps account of what could not be read
/// or believed.
class Reading {
 public:
  [[nodiscard]] static Result<Reading> begin(Db& db, const StoreIdentity& store) {
    SSHX_TRY(Stmt stmt,
             db.prepare("SELECT sequence, record, hash FROM records WHERE execution_id = ?"
                        " AND event = 'finished' ORDER BY sequence LIMIT 1"));
    return Reading(store, std::move(stmt));
  }

  /// Both records of the execution that the row at hand leads, each with its hash; null for one
  /// that there is not, or that cannot be read.
  [[nodiscard]] Result<ExecutionRecords> execution(const Use& lead) {
    ExecutionRecords records;
    if (lead.text(kEvent) == "finished") {
      records.finished = read(lead);
      return records;
    }
    records.started = read(lead);
    auto row = find_finished_.use();
    row.bind(lead.text(kExecutionId));
    SSHX_TRY(const bool found, row.next());
    if (found) records.finished = read(row);
    return records;
  }

  /// Adds what was noticed on the way.
  void report(QueryAnswer& answer) const {
    answer.skipped_records += std::ssize(unreadable_);
    if (!unreadable_.empty()) {
      answer.warnings.push_back(
          fmt::format("records that cannot be read are left out: {}", list_of(unreadable_)));
    }
    if (!altered_.empty()) {
      answer.warnings.push_back(fmt::format(
          "records that do not match their hash, so were altered after they were written: {}",
          list_of(altered_)));
    }
  }

 private:
  Reading(const StoreIdentity& store, Stmt find_finished)
      : store_(&store), find_finished_(std::move(find_finished)) {}

  Json read(const Use& row) {
    const StoredRecord stored{row.integer(0), row.text(1), row.text(2)};
    auto content = parse_json(stored.text, "record");
    if (!content.has_value() || !is_readable(*content)) {
      unreadable_.push_back(stored.sequence);
      return nullptr;
    }
    if (!is_intact(stored, *content, *store_)) altered_.push_back(stored.sequence);
    return record_document(stored, *std::move(content));
  }

  const StoreIdentity* store_;
  Stmt find_finished_;
  std::vector<std::int64_t> altered_;
  std::vector<std::int64_t> unreadable_;
};

/// Counts the records that no search can find, because they name no execution or no event: only an
/// edit makes such.
Status report_nameless(Db& db, QueryAnswer& answer) {
  SSHX_TRY(Stmt stmt, db.prepare("SELECT count(*), min(sequence) FROM records WHERE"
                                 " event IS NULL OR execution_id IS NULL"));
  auto row = stmt.use();
  SSHX_CHECK(row.next());
  const auto count = row.integer(0);
  if (count == 0) return {};
  answer.skipped_records += count;
  answer.warnings.push_back(
      fmt::format("{} damaged records name no execution and are left out; the first is {}", count,
                  row.integer(1)));
  return {};
}

bool has_any(const ExecutionRecords& records) {
  return records.started.is_object() || records.finished.is_object();
}

/// Whether the execution can be shown, and may be. Its finished record is not asked where the
/// started one tells its target.
bool is_shown(const ExecutionRecords& records, const Filter& filter) {
  if (!has_any(records) || !filter.admits) return has_any(records);
  const Json& either = records.started.is_object() ? records.started : records.finished;
  return filter.admits(either.value("target", Json()));
}

Result<QueryAnswer> read_executions(Db& db, const StoreIdentity& store, const Filter& filter) {
  const auto conditions = conditions_of(filter);
  SSHX_TRY(Stmt select,
           db.prepare(fmt::format("{}{} ORDER BY r.sequence DESC", kSelectLeads, conditions.sql)));
  SSHX_TRY(auto reading, Reading::begin(db, store));
  auto rows = select.use();
  for (const auto& value : conditions.values) rows.bind(value);
  QueryAnswer answer;
  while (true) {
    SSHX_TRY(const bool found, rows.next());
    if (!found) break;
    SSHX_TRY(const auto records, reading.execution(rows));
    if (!is_shown(records, filter)) continue;
    // One more than asked for tells that there are more.
    if (std::ssize(answer.events) == filter.limit) {
      answer.warnings.push_back(
          fmt::format("more executions match: only the newest {} are listed", filter.limit));
      break;
    }
    answer.events.push_back(make_event(records));
  }
  reading.report(answer);
  SSHX_CHECK(report_nameless(db, answer));
  return answer;
}

/// The ids that begin with `prefix`, at most three: enough to tell one from several and to name
/// some.
Result<std::vector<std::string>> ids_with(Db& db, std::string_view prefix) {
  SSHX_TRY(Stmt select,
           db.prepare("SELECT DISTINCT execution_id FROM records WHERE"
                      " execution_id >= ? AND execution_id < ? ORDER BY execution_id LIMIT 3"));
  auto rows = select.use();
  // No id holds a byte above ASCII, so this ends the range of those that begin with the prefix.
  rows.bind(prefix).bind(std::string(prefix) + "\xef\xbf\xbf");
  std::vector<std::string> ids;
  while (true) {
    SSHX_TRY(const bool found, rows.next());
    if (!found) return ids;
    ids.push_back(rows.text(0));
  }
}

Error unknown_execution(std::string message) {
  return config_error("unknown_execution", std::move(message),
                      "sshx audit query lists the executions");
}

Result<std::string> unique_id(Db& db, std::string_view prefix) {
  constexpr std::size_t kShortest = 8;
  if (prefix.size() < kShortest) {
    return config_error("unknown_execution",
                        fmt::format("\"{}\" is too short for an execution's id", printable(prefix)),
                        fmt::format("give the id, or at least its first {} characters", kShortest));
  }
  SSHX_TRY(auto ids, ids_with(db, prefix));
  if (ids.empty()) {
    return unknown_execution(fmt::format("no execution has the id \"{}\"", printable(prefix)));
  }
  // The full id of one execution may be the beginning of another's.
  if (ids.size() > 1 && ids.front() != prefix) {
    return config_error(
        "ambiguous",
        fmt::format("several executions have ids that begin with {}: {}", prefix, join(ids, ", ")),
        "give more of the id");
  }
  return ids.front();
}

Result<Json> read_execution(Db& db, const StoreIdentity& store, const std::string& id) {
  SSHX_TRY(Stmt select, db.prepare(fmt::format("{} AND {} ORDER BY r.sequence LIMIT 1",
                                               kSelectLeads, kIsExecution)));
  SSHX_TRY(auto reading, Reading::begin(db, store));
  auto row = select.use();
  row.bind(id);
  SSHX_TRY(const bool found, row.next());
  if (!found) return unknown_execution(fmt::format("no record tells how {} started or ended", id));
  SSHX_TRY(auto records, reading.execution(row));
  if (!has_any(records)) return unknown_execution(fmt::format("the records of {} are damaged", id));
  Json event = make_event(records);
  event["records"] = Json::array();
  for (auto* record : {&records.started, &records.finished}) {
    if (record->is_object()) event["records"].push_back(std::move(*record));
  }
  return event;
}

}  // namespace

Result<QueryAnswer> find_executions(Db& db, const StoreIdentity& store, const Filter& filter) {
  SSHX_TRY(const Txn snapshot, Txn::begin(db, Txn::Kind::read));
  return read_executions(db, store, filter);
}

Result<Json> find_execution(Db& db, const StoreIdentity& store, std::string_view prefix) {
  SSHX_TRY(const Txn snapshot, Txn::begin(db, Txn::Kind::read));
  SSHX_TRY(const auto id, unique_id(db, prefix));
  return read_execution(db, store, id);
}

}  // namespace sshx::audit
