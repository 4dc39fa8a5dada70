#include <gmock/gmock.h>

#include "exec/admission.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<std::optional<Bypass>> admission(Json request) {
  return read_admission(test::checked_run(std::move(request)));
}

Error refusal(Json request) {
  const auto read = admission(std::move(request));
  EXPECT_FALSE(read.has_value());
  return read.has_value() ? Error() : read.error();
}

TEST(AdmissionTest, NothingAskedIsNothing) {
  const auto read = admission(Json::object());
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->has_value());
  EXPECT_TRUE(bypass_json(*read).is_null());
}

TEST(AdmissionTest, WhatIsAskedComesBack) {
  const auto read = admission({{"force", true}, {"bypass_reason", "ticket 7"}});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(bypass_json(*read),
            Json({{"force", true}, {"no_safety_check", false}, {"reason", "ticket 7"}}));
  const auto both =
      admission({{"force", true}, {"no_safety_check", true}, {"bypass_reason", "ticket 8"}});
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(bypass_json(*both)["no_safety_check"], true);
}

TEST(AdmissionTest, TheReasonIsRedacted) {
  const auto read = admission({{"force", true}, {"bypass_reason", "PASSWORD=hunter2 expired"}});
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(dump_json(bypass_json(*read)), Not(HasSubstr("hunter2")));
  EXPECT_THAT(dump_json(bypass_json(*read)), HasSubstr("expired"));
}

TEST(AdmissionTest, ABypassNeedsAReason) {
  for (const auto* name : {"force", "no_safety_check"}) {
    const auto error = refusal({{name, true}});
    EXPECT_EQ(error.kind, ErrorKind::config);
    EXPECT_EQ(error.code, "required");
    EXPECT_THAT(error.message, HasSubstr(name));
    EXPECT_THAT(error.hint, HasSubstr("--bypass-reason"));
  }
}

TEST(AdmissionTest, AReasonNeedsABypass) {
  const auto error = refusal({{"bypass_reason", "TOKEN=hunter2"}, {"force", false}});
  EXPECT_EQ(error.code, "request_conflict");
  EXPECT_THAT(error.message + error.hint, Not(HasSubstr("hunter2")));
}

TEST(AdmissionTest, AnExpectedPlanIsRefusedWhateverElseIsAsked) {
  const std::string hash = "sha256:" + std::string(64, '0');
  for (const Json& more : {Json::object(), Json({{"force", true}}), Json({{"dry_run", true}})}) {
    Json request = more;
    request["expect_plan"] = hash;
    const auto error = refusal(request);
    EXPECT_EQ(error.kind, ErrorKind::config);
    EXPECT_EQ(error.code, "not_supported");
    EXPECT_THAT(error.hint, HasSubstr("--dry-run"));
  }
}

}  // namespace
}  // namespace sshx::exec
