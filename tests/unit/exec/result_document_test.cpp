#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "exec/result.h"
#include "unit/exec/samples.h"
#include "unit/exec/schema_check.h"

namespace sshx::exec {
namespace {

using test::captured;
using test::full;
using test::planned;
using test::some_error;

std::string fingerprint_with(const std::function<void(ExecutionResult&)>& change) {
  ExecutionResult result = full();
  change(result);
  finalise(result);
  return result.fingerprint;
}

std::string fingerprint_of_full() {
  return fingerprint_with([](ExecutionResult&) {});
}

TEST(FingerprintTest, IsTheSameForTheSameFacts) {
  EXPECT_EQ(fingerprint_of_full(), fingerprint_of_full());
}

TEST(FingerprintTest, IgnoresIdsTimesAndAuditStatus) {
  const std::string same = fingerprint_of_full();
  const std::vector<std::function<void(ExecutionResult&)>> changes{
      [](ExecutionResult& r) { r.identity.execution_id = "another"; },
      [](ExecutionResult& r) { r.identity.run_id = "another"; },
      [](ExecutionResult& r) { r.identity.request_id = "another"; },
      [](ExecutionResult& r) { r.identity.started_at += std::chrono::hours(5); },
      [](ExecutionResult& r) { r.identity.started_clock += std::chrono::hours(5); },
      [](ExecutionResult& r) { r.duration_ms = 99; },
      [](ExecutionResult& r) { r.observed.resolve_ms = std::nullopt; },
      [](ExecutionResult& r) { r.observed.connect_ms = 99; },
      [](ExecutionResult& r) { r.observed.auth_ms = 99; },
      [](ExecutionResult& r) { r.observed.exec_ms = 99; },
      [](ExecutionResult& r) { r.audit_status = AuditStatus::written; },
      [](ExecutionResult& r) { r.audit_status = AuditStatus::failed; }};
  for (std::size_t i = 0; i < changes.size(); ++i)
    EXPECT_EQ(fingerprint_with(changes[i]), same) << i;
}

TEST(FingerprintTest, ChangesWithEveryFact) {
  const std::vector<std::function<void(ExecutionResult&)>> changes{
      [](ExecutionResult&) {},
      [](ExecutionResult& r) { r.operation = "other"; },
      [](ExecutionResult& r) { r.target.alias = std::nullopt; },
      [](ExecutionResult& r) { r.target.address = "192.0.2.6"; },
      [](ExecutionResult& r) { r.target.port = 22; },
      [](ExecutionResult& r) { r.target.user = "bob"; },
      [](ExecutionResult& r) { r.action.payload.bytes = "other"; },
      [](ExecutionResult& r) {
        r.action.payload.interpreter = Interpreter{"sh", {}};
      },
      [](ExecutionResult& r) {
        r.action.payload.interpreter = Interpreter{"sh", {"-e"}};
      },
      [](ExecutionResult& r) { r.action.payload.directory = "/srv"; },
      [](ExecutionResult& r) { r.action.payload.environment = {"A=1"}; },
      [](ExecutionResult& r) { r.action.payload.terminal = true; },
      [](ExecutionResult& r) { r.action.intent = Intent::read; },
      [](ExecutionResult& r) { r.action.bypass.emplace().force = true; },
      [](ExecutionResult& r) { r.action.bypass.emplace().no_safety_check = true; },
      [](ExecutionResult& r) { r.action.input = InputMode::inherited; },
      [](ExecutionResult& r) {
        r.action.input = InputMode::given;
        r.action.stdin_bytes = 7;
      },
      [](ExecutionResult& r) { r.limits.timeout_ms = 1; },
      [](ExecutionResult& r) { r.limits.connect_timeout_ms = 1; },
      [](ExecutionResult& r) { r.limits.max_output_bytes = 1; },
      [](ExecutionResult& r) { r.limits.server_alive_interval_ms = 1; },
      [](ExecutionResult& r) { r.limits.server_alive_count_max = 1; },
      [](ExecutionResult& r) { r.limits.host_timeout_ms = 1; },
      [](ExecutionResult& r) { r.limits.global_timeout_ms = 1; },
      [](ExecutionResult& r) { r.limits.fail_fast = true; },
      [](ExecutionResult& r) { r.limits.max_failures = 1; },
      [](ExecutionResult& r) { r.limits.concurrency = 1; },
      [](ExecutionResult& r) { r.plan_hash = sha256_label("other"); },
      [](ExecutionResult& r) { r.risk = Risk::destructive; },
      [](ExecutionResult& r) {
        r.effects = {"unknown", "privileged"};
      },
      [](ExecutionResult& r) { r.outcome.exit_status = 1; },
      [](ExecutionResult& r) { r.outcome.exit_status = 2; },
      [](ExecutionResult& r) { r.outcome.exit_status = std::nullopt; },
      [](ExecutionResult& r) {
        r.outcome.exit_status = std::nullopt;
        r.outcome.exit_signal = "TERM";
      },
      [](ExecutionResult& r) {
        r.outcome.exit_status = std::nullopt;
        r.outcome.exit_signal = "KILL";
      },
      [](ExecutionResult& r) { r.error = some_error(ErrorKind::local_io, "broken_pipe"); },
      [](ExecutionResult& r) { r.error = some_error(ErrorKind::local_io, "no_space"); },
      [](ExecutionResult& r) { r.error = some_error(ErrorKind::timeout, "command"); },
      [](ExecutionResult& r) { r.observed.host_key = std::nullopt; },
      [](ExecutionResult& r) { r.observed.host_key->blob = "other"; },
      [](ExecutionResult& r) { r.observed.auth_method = ""; },
      [](ExecutionResult& r) { r.observed.peer_address = "192.0.2.7"; },
      [](ExecutionResult& r) { r.standard_output.text.text = "other"; },
      [](ExecutionResult& r) { r.standard_output.text.encoding = "base64"; },
      [](ExecutionResult& r) { r.standard_output.total = 4; },
      [](ExecutionResult& r) { r.standard_error.text.text = "other"; },
      [](ExecutionResult& r) { r.standard_error.text.omitted_at = 1; },
      [](ExecutionResult& r) { r.warnings = {"a warning"}; },
      [](ExecutionResult& r) { std::swap(r.standard_output, r.standard_error); }};
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto [place, fresh] = seen.emplace(fingerprint_with(changes[i]), i);
    EXPECT_TRUE(fresh) << i << " is like " << place->second;
  }
}

TEST(FingerprintTest, IsInTheDocument) {
  ExecutionResult result = full();
  finalise(result);
  EXPECT_EQ(result_document(result)["execution_fingerprint"], result.fingerprint);
  EXPECT_EQ(result.fingerprint.substr(0, 7), "sha256:");
  EXPECT_EQ(result.fingerprint.size(), 71U);
}

TEST(ResultDocumentTest, HasEveryFieldOfASuccess) {
  ExecutionResult result = full();
  result.identity.request_id = "deploy-7";
  result.warnings = {"a warning"};
  result.audit_status = AuditStatus::written;
  finalise(result);
  const Json document = result_document(result);
  test::expect_valid(document);
  EXPECT_EQ(document["schema_version"], "sshx.result.v1");
  EXPECT_EQ(document["operation"], "run");
  EXPECT_EQ(document["request_id"], "deploy-7");
  EXPECT_TRUE(document["parent_execution_id"].is_null());
  EXPECT_EQ(document["target"]["alias"], "web-1");
  EXPECT_EQ(document["target"]["via"], Json::array());
  EXPECT_EQ(document["host"], "192.0.2.5");
  EXPECT_EQ(document["port"], 2222);
  EXPECT_EQ(document["user"], "alice");
  EXPECT_EQ(document["command"], "systemctl restart app");
  EXPECT_EQ(document["action"]["payload_sha256"], sha256_label("systemctl restart app"));
  EXPECT_EQ(document["action"]["stdin_bytes"], 0);
  EXPECT_EQ(document["started_at"], rfc3339(result.identity.started_at));
  EXPECT_EQ(document["duration_ms"], 12);
  EXPECT_EQ(document["timings"],
            Json({{"resolve_ms", 1}, {"connect_ms", 2}, {"auth_ms", 3}, {"exec_ms", 4}}));
  EXPECT_EQ(document["limits"]["max_output_bytes"], 1000);
  EXPECT_EQ(document["auth_method"], "publickey");
  ASSERT_EQ(document["peers"].size(), 1U);
  EXPECT_EQ(document["peers"][0]["address"], "192.0.2.5");
  EXPECT_EQ(document["peers"][0]["port"], 2222);
  EXPECT_EQ(document["peers"][0]["user"], "alice");
  EXPECT_EQ(document["peers"][0]["host_key_fingerprint"], fingerprint(*result.observed.host_key));
  EXPECT_EQ(document["peers"][0]["credential_refs"], Json::array());
  EXPECT_EQ(document["audit_status"], "written");
  EXPECT_EQ(document["warnings"], Json({"a warning"}));
  EXPECT_EQ(document["stdout"], "out");
  EXPECT_EQ(document["stdout_bytes"], 3);
  EXPECT_EQ(document["stdout_truncated"], false);
  EXPECT_EQ(document["stdout_omitted_bytes"], 0);
  EXPECT_TRUE(document["stdout_omitted_at"].is_null());
  EXPECT_EQ(document["stderr"], "err");
}

TEST(ResultDocumentTest, WhatDidNotHappenIsNull) {
  ExecutionResult result = planned();
  result.error = some_error(ErrorKind::auth, "identity_missing");
  finalise(result);
  const Json document = result_document(result);
  test::expect_valid(document);
  EXPECT_TRUE(document["timings"]["connect_ms"].is_null());
  EXPECT_TRUE(document["auth_method"].is_null());
  EXPECT_TRUE(document["request_id"].is_null());
  EXPECT_TRUE(document["signal"].is_null());
  EXPECT_TRUE(document["core_dumped"].is_null());
  EXPECT_TRUE(document["verified"].is_null());
  EXPECT_EQ(document["phase"], "authenticate");
  EXPECT_EQ(document["stdout"], "");
  EXPECT_EQ(document["stdout_encoding"], "utf-8");
  EXPECT_EQ(document["stdout_bytes"], 0);
}

TEST(ResultDocumentTest, AnInheritedStdinHasNoLength) {
  ExecutionResult result = full();
  result.action.input = InputMode::inherited;
  finalise(result);
  EXPECT_TRUE(result_document(result)["action"]["stdin_bytes"].is_null());
}

TEST(ResultDocumentTest, AGivenStdinHasItsLengthAndNothingElse) {
  ExecutionResult result = full();
  result.action.input = InputMode::given;
  result.action.stdin_bytes = 7;
  finalise(result);
  EXPECT_EQ(result_document(result)["action"]["stdin_bytes"], 7);
}

// B009
TEST(ResultDocumentTest, BinaryOutputDecodesToItsBytes) {
  const std::string bytes("\x00\xff\xfe binary \xc3", 12);
  ExecutionResult result = full();
  result.standard_output = captured(bytes);
  finalise(result);
  const Json document = result_document(result);
  test::expect_valid(document);
  EXPECT_EQ(document["stdout_encoding"], "base64");
  EXPECT_EQ(from_base64(document["stdout"].get<std::string>()).value(), bytes);
  EXPECT_EQ(document["stdout_bytes"], bytes.size());
  EXPECT_EQ(document["stderr_encoding"], "utf-8");
  EXPECT_EQ(document["stderr"], "err");
}

TEST(ResultDocumentTest, TruncatedOutputSaysWhereAndHowMuch) {
  ExecutionResult result = full();
  result.standard_error = captured(std::string(1000, 'x'), 100);
  finalise(result);
  const Json document = result_document(result);
  test::expect_valid(document);
  EXPECT_EQ(document["stderr_truncated"], true);
  EXPECT_EQ(document["stderr_bytes"], 1000);
  const auto kept = document["stderr"].get<std::string>().size();
  EXPECT_EQ(document["stderr_omitted_bytes"], 1000 - kept);
  EXPECT_LE(document["stderr_omitted_at"].get<std::size_t>(), kept);
  EXPECT_EQ(document["stdout_truncated"], false);
}

TEST(ErrorJsonTest, HasEveryField) {
  const Error error = some_error(ErrorKind::connect, "refused");
  const Json json = error_json(&error, kNothingRan);
  EXPECT_EQ(json, Json({{"kind", "connect"},
                        {"code", "refused"},
                        {"message", "what failed, on what"},
                        {"phase", "connect"},
                        {"retryable", true},
                        {"retry_safety", "safe"},
                        {"hint", "what to do"}}));
}

TEST(ErrorJsonTest, AMissingHintIsNullAndAPhaseOfItsOwnCounts) {
  Error error = some_error(ErrorKind::connect, "refused");
  error.hint.clear();
  error.at = Phase::resolve;
  const Json json = error_json(&error, "unknown");
  EXPECT_TRUE(json["hint"].is_null());
  EXPECT_EQ(json["phase"], "resolve");
  EXPECT_EQ(json["retry_safety"], "unknown");
}

TEST(ErrorJsonTest, NoErrorIsNull) { EXPECT_TRUE(error_json(nullptr, kNothingRan).is_null()); }

}  // namespace
}  // namespace sshx::exec
