#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "audit/documents.h"
#include "unit/audit/scratch.h"

namespace sshx::audit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

std::vector<std::string> ids_of(const QueryAnswer& answer) {
  std::vector<std::string> ids;
  for (const auto& event : answer.events) ids.push_back(event["execution_id"]);
  return ids;
}

WallTime at(std::string_view text) { return parse_time(text, WallTime()).value(); }

Json schema_of(const std::string& document) {
  std::ifstream file("schemas/documents/" + document + ".schema.json");
  std::stringstream text;
  text << file.rdbuf();
  return parse_json(text.str(), document).value();
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// Four executions that differ in every searchable field.
class QueryTest : public AuditTest {
 protected:
  QueryTest() {
    Json other = started_record("bbbbbbbb-2");
    other["operation"] = "host.test";
    other["run_id"] = "run-b";
    other["request_id"] = "ticket-7";
    other["target"]["alias"] = "db-1";
    other["target"]["address"] = "192.0.2.9";
    other["started_at"] = "2026-12-02T10:00:00.000Z";
    Json literal = started_record("cccccccc-3");
    literal["target"]["alias"] = nullptr;
    literal["started_at"] = "2026-12-03T10:00:00.000Z";
    append({started_record("aaaaaaaa-1"), finished_record("aaaaaaaa-1"), other, literal,
            failed_record("bbbbbbbb-2", "auth"), failed_record("cccccccc-3", "timeout"),
            started_record("dddddddd-4")});
  }
};

TEST_F(QueryTest, ListsExecutionsNewestFirst) {
  const auto answer = query();
  EXPECT_THAT(ids_of(answer), ElementsAre("dddddddd-4", "cccccccc-3", "bbbbbbbb-2", "aaaaaaaa-1"));
  EXPECT_THAT(answer.warnings, IsEmpty());
  EXPECT_EQ(answer.skipped_records, 0);
}

TEST_F(QueryTest, OutcomeIsTheFinishedStatusOrUnknown) {
  const auto events = query().events;
  EXPECT_EQ(events[0]["outcome"], "unknown");
  EXPECT_EQ(events[1]["outcome"], "failed");
  EXPECT_EQ(events[3]["outcome"], "succeeded");
}

TEST_F(QueryTest, FiltersByEachField) {
  EXPECT_THAT(ids_of(query({.operation = "host.test"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.execution_id = "cccccccc-3"})), ElementsAre("cccccccc-3"));
  EXPECT_THAT(ids_of(query({.run_id = "run-b"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.request_id = "ticket-7"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.error_kind = "timeout"})), ElementsAre("cccccccc-3"));
  EXPECT_THAT(ids_of(query({.operation = "nothing"})), IsEmpty());
}

TEST_F(QueryTest, ATargetIsAnAliasOrAnAddress) {
  EXPECT_THAT(ids_of(query({.target = "db-1"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.target = "192.0.2.9"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.target = "web-1"})), ElementsAre("dddddddd-4", "aaaaaaaa-1"));
  EXPECT_THAT(ids_of(query({.target = "192.0.2.7"})),
              ElementsAre("dddddddd-4", "cccccccc-3", "aaaaaaaa-1"));
}

TEST_F(QueryTest, SinceIncludesItsMomentAndUntilDoesNot) {
  const auto second = at("2026-12-02T10:00:00.000Z");
  const auto third = at("2026-12-03T10:00:00.000Z");
  EXPECT_THAT(ids_of(query({.since = second})), ElementsAre("cccccccc-3", "bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.until = second})), ElementsAre("dddddddd-4", "aaaaaaaa-1"));
  EXPECT_THAT(ids_of(query({.since = second, .until = third})), ElementsAre("bbbbbbbb-2"));
}

TEST_F(QueryTest, FiltersNarrowTogether) {
  EXPECT_THAT(ids_of(query({.target = "db-1", .error_kind = "auth"})), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(ids_of(query({.target = "db-1", .error_kind = "timeout"})), IsEmpty());
}

TEST_F(QueryTest, AFilterIsAValueNeverSql) {
  EXPECT_THAT(ids_of(query({.target = "' OR 1=1 --"})), IsEmpty());
  EXPECT_THAT(ids_of(query({.operation = "%"})), IsEmpty());
}

TEST_F(QueryTest, ALimitThatCutsIsSaid) {
  const auto cut = query({.limit = 2});
  EXPECT_THAT(ids_of(cut), ElementsAre("dddddddd-4", "cccccccc-3"));
  EXPECT_THAT(cut.warnings, ElementsAre(HasSubstr("newest 2")));
  EXPECT_THAT(query({.limit = 4}).warnings, IsEmpty());
}

// The limit counts what is shown, or a busy store would hide it all.
TEST_F(QueryTest, ATargetThatIsNotAdmittedIsAsIfItWereNotThere) {
  const auto only = [](const std::string& alias) {
    return [alias](const Json& target) { return target["alias"] == Json(alias); };
  };
  EXPECT_THAT(ids_of(query({.admits = only("web-1")})), ElementsAre("dddddddd-4", "aaaaaaaa-1"));
  EXPECT_THAT(ids_of(query({.target = "192.0.2.7", .admits = only("db-1")})), IsEmpty());
  const auto last = query({.admits = only("db-1"), .limit = 1});
  EXPECT_THAT(ids_of(last), ElementsAre("bbbbbbbb-2"));
  EXPECT_THAT(last.warnings, IsEmpty());
  const auto cut = query({.admits = only("web-1"), .limit = 1});
  EXPECT_THAT(ids_of(cut), ElementsAre("dddddddd-4"));
  EXPECT_THAT(cut.warnings, ElementsAre(HasSubstr("newest 1")));
}

// Groups are as they were recorded, and where the started record is missing the other one tells.
TEST_F(QueryTest, WhatIsAdmittedIsAskedOfTheRecordThatThereIs) {
  append({finished_record("eeeeeeee-5")});
  std::vector<Json> asked;
  const auto answer = query({.admits = [&asked](const Json& target) {
    asked.push_back(target);
    return false;
  }});
  EXPECT_THAT(answer.events, IsEmpty());
  ASSERT_EQ(asked.size(), 5U);
  for (const auto& target : asked) EXPECT_TRUE(target.contains("groups"));
}

TEST_F(QueryTest, ShowTakesAnIdOrAUniqueBeginningOfIt) {
  const auto log = AuditLog::open_read_only(store());
  for (const auto* id : {"bbbbbbbb-2", "bbbbbbbb", "BBBBBBBB"}) {
    const auto event = log->show(id);
    ASSERT_TRUE(event.has_value()) << event.error().message;
    EXPECT_EQ((*event)["execution_id"], "bbbbbbbb-2");
    EXPECT_EQ((*event)["records"].size(), 2U);
    EXPECT_EQ((*event)["records"][1]["error_kind"], "auth");
  }
}

TEST_F(QueryTest, ShowOfAnUnknownIdSaysSo) {
  const auto log = AuditLog::open_read_only(store());
  for (const auto* id : {"bbbbbbb", "eeeeeeee", "bbbbbbbb-22", "%%%%%%%%", ""}) {
    const auto event = log->show(id);
    ASSERT_FALSE(event.has_value()) << id;
    EXPECT_EQ(event.error().kind, ErrorKind::config);
    EXPECT_EQ(event.error().code, "unknown_execution");
    EXPECT_FALSE(event.error().hint.empty());
  }
}

TEST_F(QueryTest, ShowOfAnAmbiguousBeginningNamesTheCandidates) {
  append({started_record("bbbbbbbb-25")});
  const auto log = AuditLog::open_read_only(store());
  const auto event = log->show("bbbbbbbb");
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, "ambiguous");
  EXPECT_THAT(event.error().message, HasSubstr("bbbbbbbb-2, bbbbbbbb-25"));
  EXPECT_EQ(log->show("bbbbbbbb-2").value()["execution_id"], "bbbbbbbb-2");
}

TEST_F(QueryTest, AnEventHasExactlyTheFieldsOfItsSchema) {
  const Json item = schema_of("sshx.audit.query.v1")["properties"]["events"]["items"];
  for (const auto& event : query().events) {
    EXPECT_THAT(keys_of(event),
                UnorderedElementsAreArray(item["required"].get<std::vector<std::string>>()));
  }
}

TEST_F(QueryTest, AShownRecordHasTheFieldsOfItsSchema) {
  const auto schema = schema_of("sshx.audit.record.v1");
  const auto records = AuditLog::open_read_only(store())->show("bbbbbbbb-2").value()["records"];
  for (std::size_t index : {0U, 1U}) {
    auto fields = schema["required"].get<std::vector<std::string>>();
    const auto more = schema["anyOf"][index]["required"].get<std::vector<std::string>>();
    fields.insert(fields.end(), more.begin(), more.end());
    EXPECT_THAT(keys_of(records[index]), UnorderedElementsAreArray(fields));
  }
}

TEST_F(QueryTest, TheDocumentCountsItsEvents) {
  const auto document = query_document(query({.limit = 2}));
  EXPECT_THAT(keys_of(document), ElementsAre("schema_version", "success", "count", "events",
                                             "skipped_records", "warnings"));
  EXPECT_EQ(document["schema_version"], "sshx.audit.query.v1");
  EXPECT_EQ(document["count"], 2);
  EXPECT_EQ(document["events"].size(), 2U);
  EXPECT_EQ(document["warnings"].size(), 1U);
  EXPECT_EQ(query_document({})["events"], Json::array());
}

TEST_F(AuditTest, AnEventJoinsBothRecords) {
  append({started_record("one"), failed_record("one", "remote_exit")});
  const auto event = query().events.at(0);
  EXPECT_EQ(event["command"], "uptime");
  EXPECT_EQ(event["entry"], "cli");
  EXPECT_EQ(event["target"],
            (Json{{"alias", "web-1"}, {"address", "192.0.2.7"}, {"port", 22}, {"user", "deploy"}}));
  EXPECT_EQ(event["started_at"], "2026-12-01T10:00:00.000Z");
  EXPECT_EQ(event["finished_at"], "2026-12-01T10:00:01.500Z");
  EXPECT_EQ(event["duration_ms"], 1500);
  EXPECT_EQ(event["exit_code"], -1);
  EXPECT_EQ(event["error_kind"], "remote_exit");
  EXPECT_EQ(event["error_code"], "refused");
  EXPECT_EQ(event["message"], "it was refused");
  EXPECT_EQ(event["started_sequence"], 1);
  EXPECT_EQ(event["finished_sequence"], 2);
}

TEST_F(AuditTest, WhatOnlyTheEndCanTellIsNullUntilThen) {
  append({started_record("one")});
  const auto event = query().events.at(0);
  for (const auto* field : {"finished_at", "duration_ms", "status", "phase", "completion",
                            "executed", "exit_code", "signal", "error_kind", "error_code",
                            "message", "change_state", "remote_state", "finished_sequence"}) {
    EXPECT_EQ(event.at(field), nullptr) << field;
  }
}

TEST_F(AuditTest, AnExecutionWhoseStartCouldNotBeWrittenIsListed) {
  append({finished_record("one"), started_record("two")});
  const auto answer = query();
  EXPECT_THAT(ids_of(answer), ElementsAre("two", "one"));
  EXPECT_EQ(answer.events[1]["outcome"], "succeeded");
  EXPECT_EQ(answer.events[1]["started_sequence"], nullptr);
  EXPECT_EQ(answer.events[1]["command"], nullptr);
  EXPECT_EQ(answer.events[1]["target"]["alias"], "web-1");
}

TEST_F(AuditTest, AnAlteredRecordIsNamed) {
  append({started_record("one"), finished_record("one"), started_record("two")});
  alter(1, "uptime", "rm -rf");
  const auto answer = query();
  EXPECT_EQ(answer.events.size(), 2U);
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("altered after they were written: 1")));
  EXPECT_THAT(query({.execution_id = "two"}).warnings, IsEmpty());
}

TEST_F(AuditTest, ARecordWhoseHashWasMadeToFitButNotItsPlaceIsNamed) {
  append({started_record("one"), started_record("two")});
  run_sql("DROP TRIGGER records_no_update;"
          "UPDATE records SET record = (SELECT record FROM records WHERE sequence = 1),"
          " hash = (SELECT hash FROM records WHERE sequence = 1) WHERE sequence = 2");
  EXPECT_THAT(query().warnings, ElementsAre(HasSubstr("altered after they were written: 2")));
}

TEST_F(AuditTest, ARecordThatIsNoJsonIsCountedAndLeftOut) {
  append({started_record("one"), finished_record("one"), started_record("two")});
  alter(2, "{", "");
  const auto answer = query();
  EXPECT_THAT(ids_of(answer), ElementsAre("two", "one"));
  EXPECT_EQ(answer.events[1]["outcome"], "unknown");
  EXPECT_EQ(answer.skipped_records, 1);
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("first is 2")));
}

TEST_F(AuditTest, ARecordThatLacksAFieldIsCountedAndLeftOut) {
  append({started_record("one"), finished_record("one"), started_record("two")});
  alter(3, "operation", "aeration");
  const auto answer = query();
  EXPECT_THAT(ids_of(answer), ElementsAre("one"));
  EXPECT_EQ(answer.skipped_records, 1);
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("left out: 3")));
}

TEST_F(AuditTest, AFinishedRecordThatLacksAFieldLeavesTheOutcomeUnknown) {
  append({started_record("one"), finished_record("one")});
  alter(2, "run_id", "ran_id");
  const auto answer = query();
  EXPECT_THAT(ids_of(answer), ElementsAre("one"));
  EXPECT_EQ(answer.events[0]["outcome"], "unknown");
  EXPECT_EQ(answer.skipped_records, 1);
}

}  // namespace
}  // namespace sshx::audit
