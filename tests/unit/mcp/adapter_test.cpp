#include <gmock/gmock.h>

#include <csignal>

#include "unit/exec/schema_check.h"
#include "unit/loop/scratch.h"
#include "unit/mcp/scripted_server.h"

namespace sshx::mcp {
namespace {

using test::ScriptedServer;
using test::ServerOptions;
using testing::HasSubstr;
using testing::Not;

/// The adapter's document for one call whose child does `script`; it must be valid.
Json adapter_answer(const std::string& script, const Limits& limits = test::patient_limits(),
                    const Json& more = Json::object()) {
  ServerOptions options;
  options.limits = limits;
  ScriptedServer server(options);
  server.initialize();
  server.behave("x", script);
  Json arguments = {{"command", "x"}};
  arguments.update(more);
  server.request(1, "tools/call", {{"name", "sshx_run"}, {"arguments", arguments}});
  auto document = server.document(1);
  EXPECT_EQ(document["schema_version"], "sshx.adapter.v1") << dump_json(document);
  sshx::test::expect_valid(document);
  return document;
}

std::string code_of(const Json& document) { return document["error"]["code"].get<std::string>(); }

TEST(AdapterTest, WhatIsNoWholeDocumentIsNeverAResult) {
  EXPECT_EQ(code_of(adapter_answer(":")), "no_document");
  EXPECT_EQ(code_of(adapter_answer("exit 1")), "no_document");
  EXPECT_EQ(code_of(adapter_answer("printf '{\"schema_version\":\"sshx.res'")), "truncated");
  EXPECT_EQ(code_of(adapter_answer("printf '{\"schema_version\":\"sshx.result.v1\"}'")),
            "truncated");
  EXPECT_EQ(code_of(adapter_answer("echo no json")), "malformed");
  EXPECT_EQ(code_of(adapter_answer("answer true x; answer true x")), "malformed");
  EXPECT_EQ(code_of(adapter_answer("answer true x; echo noise")), "malformed");
}

TEST(AdapterTest, SaysHowTheChildEndedAndThatItMayHaveRun) {
  const auto killed = adapter_answer("echo last words >&2; kill -SEGV $$");
  EXPECT_EQ(code_of(killed), "no_document");
  EXPECT_EQ(killed["child"], (Json{{"status", nullptr}, {"signal", SIGSEGV}}));
  EXPECT_EQ(killed["executed"], Json(nullptr));
  EXPECT_EQ(killed["stderr"], "last words\\n");
  EXPECT_EQ(killed["operation"], "run");
  EXPECT_EQ(adapter_answer("exit 7")["child"], (Json{{"status", 7}, {"signal", nullptr}}));
}

/// 127 is what a remote command says that was not found: something may have run.
TEST(AdapterTest, AChildThatEndedWith127MayHaveRun) {
  const auto document = adapter_answer("echo no document; exit 127");
  EXPECT_EQ(document["executed"], Json(nullptr));
  EXPECT_EQ(document["error"]["retry_safety"], "verify_first");
}

TEST(AdapterTest, AProgramThatCannotBeExecutedRanNothing) {
  const sshx::test::ScratchFolder folder;
  for (const auto& program : {folder.file("missing"), folder.path().string()}) {
    ServerOptions options;
    options.program = program;
    ScriptedServer server(options);
    server.initialize();
    server.call(1, "x");
    const auto document = server.document(1);
    sshx::test::expect_valid(document);
    EXPECT_EQ(code_of(document), "spawn");
    EXPECT_EQ(document["executed"], Json(false));
    EXPECT_EQ(document["child"], Json(nullptr));
    EXPECT_THAT(document["error"]["message"].get<std::string>(), HasSubstr(program));
  }
}

TEST(AdapterTest, AProgramThatIsDeletedMeanwhileRanNothing) {
  ScriptedServer server;
  server.initialize();
  server.behave("x", "answer true x");
  server.call(1, "x");
  EXPECT_EQ(server.document(1)["said"], "x");
  std::filesystem::remove(server.file("program"));
  server.call(2, "x");
  const auto document = server.document(2);
  EXPECT_EQ(code_of(document), "spawn");
  EXPECT_EQ(document["executed"], Json(false));
  server.expect_nothing_before_a_ping();
}

TEST(AdapterTest, AnAnswerBeyondTheLimitEndsTheChild) {
  auto limits = test::patient_limits();
  limits.child_stdout_bytes = 100'000;
  // It never ends by itself.
  EXPECT_EQ(code_of(adapter_answer("exec yes", limits)), "stdout_limit");
}

TEST(AdapterTest, AnAnswerOfTheLimitIsTaken) {
  ServerOptions options;
  const std::string document =
      R"({"schema_version":"sshx.result.v1","said":")" + std::string(50'000, 'x') + "\"}";
  options.limits.child_stdout_bytes = document.size() + 1;
  ScriptedServer server(options);
  server.initialize();
  sshx::test::write_file(server.file("document"), document + "\n");
  server.behave("x", "cat \"$here/document\"");
  server.call(1, "x");
  EXPECT_EQ(dump_json(server.document(1)), document);
}

TEST(AdapterTest, StderrIsReadToItsEndAndOnlyItsEndIsKept) {
  auto limits = test::patient_limits();
  limits.child_stderr_bytes = 20;
  const auto document = adapter_answer("yes | head -c 3000000 >&2; printf 'the end' >&2", limits);
  EXPECT_EQ(code_of(document), "no_document");
  const auto said = document["stderr"].get<std::string>();
  EXPECT_THAT(said, testing::EndsWith("the end"));
  EXPECT_LE(said.size(), 2 * 20U);
}

TEST(AdapterTest, MuchOnStderrDoesNotHarmACall) {
  ServerOptions options;
  options.limits.child_stderr_bytes = 20;
  ScriptedServer server(options);
  server.initialize();
  server.behave("x", "yes | head -c 3000000 >&2; answer true x");
  server.call(1, "x");
  EXPECT_EQ(server.document(1)["said"], "x");
}

TEST(AdapterTest, SecretsOnStderrAreRedacted) {
  const auto document = adapter_answer("echo 'API_TOKEN=canary' >&2; exit 1");
  EXPECT_THAT(dump_json(document), Not(HasSubstr("canary")));
}

TEST(AdapterTest, TheWatchdogEndsACallAndKeepsWhatItSaid) {
  auto limits = test::patient_limits();
  limits.watchdog_seconds = 0.3;
  const auto silent = adapter_answer("exec sleep 1000", limits);
  EXPECT_EQ(code_of(silent), "watchdog");
  EXPECT_EQ(silent["child"]["signal"], SIGTERM);
  EXPECT_EQ(silent["execution"], Json(nullptr));
  EXPECT_EQ(silent["executed"], Json(nullptr));
  limits.watchdog_seconds = 1;
  const auto spoken = adapter_answer("echo '{\"schema_version\":\"sshx.result.v1\","
                                     "\"execution_id\":\"e-9\"}'; exec sleep 1000",
                                     limits);
  EXPECT_EQ(code_of(spoken), "watchdog");
  EXPECT_EQ(spoken["execution"]["schema_version"], "sshx.result.v1");
  EXPECT_EQ(spoken["execution_id"], "e-9");
}

TEST(AdapterTest, AGlobalTimeoutShortensTheWatchdog) {
  auto limits = test::patient_limits();
  limits.report_seconds = 0.1;
  const auto document =
      adapter_answer("exec sleep 1000", limits, {{"global_timeout_seconds", 0.1}});
  EXPECT_EQ(code_of(document), "watchdog");
}

TEST(AdapterTest, AGlobalTimeoutDoesNotLengthenTheWatchdog) {
  auto limits = test::patient_limits();
  limits.watchdog_seconds = 0.2;
  for (const Json& seconds : {Json(86400), Json(1e300), Json("1"), Json(nullptr)}) {
    EXPECT_EQ(
        code_of(adapter_answer("exec sleep 1000", limits, {{"global_timeout_seconds", seconds}})),
        "watchdog");
  }
}

/// No time at all is for the child to refuse, which needs its time for that.
TEST(AdapterTest, ANegativeTimeoutIsForTheChildToRefuse) {
  ScriptedServer server;
  server.initialize();
  server.behave("x", "answer false refused; exit 255");
  server.request(
      1, "tools/call",
      {{"name", "sshx_run"}, {"arguments", {{"command", "x"}, {"global_timeout_seconds", -1e9}}}});
  EXPECT_EQ(server.document(1)["said"], "refused");
}

TEST(AdapterTest, AnAnswerThatIsTooLargeForTheClientIsTold) {
  auto limits = test::patient_limits();
  limits.outgoing_bytes = 20'000;
  const std::string fields = R"({"schema_version":"sshx.result.v1","success":true,"exit_code":0,)"
                             R"("execution_id":"e-1","run_id":"r-1","output":")";
  const auto document = adapter_answer(
      "printf '%s' '" + fields + "'; yes | head -c 20000 | tr -d '\\n'; echo '\"}'", limits);
  EXPECT_EQ(code_of(document), "too_large");
  EXPECT_EQ(document["execution"]["success"], Json(true));
  EXPECT_EQ(document["execution"]["exit_code"], Json(0));
  EXPECT_FALSE(document["execution"].contains("output"));
  EXPECT_EQ(document["execution_id"], "e-1");
  EXPECT_EQ(document["run_id"], "r-1");
  EXPECT_EQ(document["executed"], Json(nullptr));
  EXPECT_THAT(document["error"]["hint"].get<std::string>(), HasSubstr("need not be sent again"));
}

TEST(AdapterTest, AMessageMayHaveAsManyBytesAsTheLimit) {
  const auto length_of = [](std::size_t limit) {
    ServerOptions options;
    options.limits.outgoing_bytes = limit;
    ScriptedServer server(options);
    server.initialize();
    server.behave("x", "answer true x");
    server.call(1, "x");
    return dump_json(server.response(1));
  };
  const auto whole = length_of(100'000);
  EXPECT_EQ(length_of(whole.size()), whole);
  EXPECT_THAT(length_of(whole.size() - 1), HasSubstr("too_large"));
}

TEST(AdapterTest, WhatAChildLeavesWithItsStdoutDoesNotHoldTheAnswer) {
  ScriptedServer server;
  server.initialize();
  // It leaves the group, so that it is not ended with it.
  server.behave("x", "setsid sh -c 'echo $$ > \"$1/started\"; exec sleep 1000' - \"$here\" & "
                     "read line < \"$here/gate\"; answer true x");
  auto& started = server.fifo("started");
  auto& gate = server.fifo("gate");
  server.call(1, "x");
  const auto stray = started.pid();
  gate.write("go\n");
  EXPECT_EQ(server.document(1)["said"], "x");
  EXPECT_EQ(::kill(stray, SIGKILL), 0) << "it was none of ours to end";
}

}  // namespace
}  // namespace sshx::mcp
