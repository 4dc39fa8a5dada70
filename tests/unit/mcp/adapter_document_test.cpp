#include <gmock/gmock.h>

#include <string>

#include "mcp/adapter_document.h"
#include "unit/exec/schema_check.h"

namespace sshx::mcp {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const Error kError{ErrorKind::adapter, "truncated", "the operation's answer breaks off", {}};

AdapterFacts facts_of(std::optional<ChildEnd> end = std::nullopt) {
  AdapterFacts facts;
  facts.operation = "run";
  facts.end = end;
  return facts;
}

Json document_of(const AdapterFacts& facts, const Error& error = kError) {
  auto document = adapter_document(error, facts);
  test::expect_valid(document);
  return document;
}

TEST(AdapterDocumentTest, SaysThatNothingRanOnlyWhereNoChildDid) {
  const auto document = document_of(facts_of());
  EXPECT_EQ(document["executed"], Json(false));
  EXPECT_EQ(document["child"], Json(nullptr));
  EXPECT_EQ(document["error"]["retry_safety"], "safe");
  EXPECT_THAT(document["error"]["hint"].get<std::string>(), HasSubstr("nothing was started"));
}

/// A status is no proof of anything: a remote command's own 127 is the child's, too.
TEST(AdapterDocumentTest, AChildThatEndedMayHaveDoneAnything) {
  for (const auto& end : {ChildEnd{0, false}, ChildEnd{1, false}, ChildEnd{126, false},
                          ChildEnd{127, false}, ChildEnd{255, false}, ChildEnd{9, true}}) {
    const auto document = document_of(facts_of(end));
    EXPECT_EQ(document["executed"], Json(nullptr)) << end.status;
    EXPECT_EQ(document["error"]["retry_safety"], "verify_first") << end.status;
    EXPECT_THAT(document["error"]["hint"].get<std::string>(), HasSubstr("sshx_audit_query"));
  }
}

TEST(AdapterDocumentTest, TellsAStatusFromASignal) {
  EXPECT_EQ(document_of(facts_of(ChildEnd{0, false}))["child"],
            (Json{{"status", 0}, {"signal", nullptr}}));
  EXPECT_EQ(document_of(facts_of(ChildEnd{9, true}))["child"],
            (Json{{"status", nullptr}, {"signal", 9}}));
}

TEST(AdapterDocumentTest, HasTheErrorAndWhoseCallItWas) {
  const auto document = document_of(facts_of());
  EXPECT_EQ(document["operation"], "run");
  EXPECT_EQ(document["success"], Json(false));
  EXPECT_EQ(document["error_kind"], "adapter");
  EXPECT_EQ(document["error"]["code"], "truncated");
  EXPECT_EQ(document["error"]["message"], kError.message);
}

TEST(AdapterDocumentTest, KeepsAHintThatTheErrorHas) {
  auto error = kError;
  error.hint = "do this";
  EXPECT_EQ(document_of(facts_of(), error)["error"]["hint"], "do this");
}

TEST(AdapterDocumentTest, TheHintNamesTheRunWhereItIsKnown) {
  auto facts = facts_of(ChildEnd{1, false});
  facts.run_id = "r-1";
  facts.execution_id = "e-1";
  const auto document = document_of(facts);
  EXPECT_EQ(document["run_id"], "r-1");
  EXPECT_EQ(document["execution_id"], "e-1");
  EXPECT_THAT(document["error"]["hint"].get<std::string>(), HasSubstr("run_id"));
}

TEST(AdapterDocumentTest, KeepsTheExecutionApart) {
  auto facts = facts_of(ChildEnd{0, false});
  facts.execution = {{"schema_version", "sshx.result.v1"}, {"success", true}};
  const auto document = document_of(facts);
  EXPECT_EQ(document["execution"], facts.execution);
  EXPECT_EQ(document["success"], Json(false));
}

TEST(AdapterDocumentTest, HasTheEndOfStderrFitToBeShown) {
  auto facts = facts_of(ChildEnd{1, false});
  const std::string text = std::string(5000, 'a') + "\x1b[31m\xff the end";
  facts.stderr_text = text;
  const auto shown = document_of(facts)["stderr"].get<std::string>();
  EXPECT_THAT(shown, EndsWith(" the end"));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  EXPECT_LT(shown.size(), 2200U);
}

TEST(AdapterDocumentTest, RedactsStderrAndTheMessage) {
  auto facts = facts_of(ChildEnd{1, false});
  facts.stderr_text = "TOKEN=canary-1";
  auto error = kError;
  error.message = "mysql --password=canary-2 failed";
  EXPECT_THAT(dump_json(document_of(facts, error)), Not(HasSubstr("canary")));
}

TEST(AdapterDocumentTest, ASecretThatIsCutIsRedactedAll) {
  auto facts = facts_of(ChildEnd{1, false});
  const auto text = "TOKEN=canary" + std::string(3000, 'x') + "-canary";
  facts.stderr_text = text;
  EXPECT_THAT(dump_json(document_of(facts)), Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace sshx::mcp
