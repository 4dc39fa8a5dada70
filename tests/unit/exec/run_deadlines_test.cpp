#include <gmock/gmock.h>

#include "exec/run_deadlines.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using testing::HasSubstr;

Deadline past(double seconds) { return after(-seconds); }
Deadline future(double seconds) { return after(seconds); }

Error connect_timeout(Phase phase = Phase::connect) {
  auto error = test::some_error(ErrorKind::connect, "timeout");
  error.at = phase;
  return error;
}

std::string code_of(const Error& error) {
  return std::string(to_string(error.kind)) + "/" + error.code;
}

TEST(RunDeadlinesTest, TheEarliestIsTheDeadlineOfAStep) {
  const auto step = future(10);
  EXPECT_EQ(RunDeadlines().within(step), step);
  const RunDeadlines deadlines{.host = future(3), .global = future(2)};
  EXPECT_EQ(deadlines.within(step), deadlines.global);
  const auto earlier = past(1);
  EXPECT_EQ(deadlines.within(earlier), earlier);
  EXPECT_EQ(RunDeadlines().earliest(), kNoDeadline);
}

TEST(RunDeadlinesTest, TheOneThatPassedFirstIsNamed) {
  const auto step = future(10);
  const RunDeadlines host{.host = past(2), .global = past(1)};
  EXPECT_EQ(code_of(host.named(connect_timeout(), step, "h:22")), "timeout/host");
  const RunDeadlines global{.host = past(1), .global = past(2)};
  EXPECT_EQ(code_of(global.named(connect_timeout(), step, "h:22")), "timeout/global");
}

TEST(RunDeadlinesTest, AStepsOwnEarlierDeadlineKeepsItsName) {
  const RunDeadlines deadlines{.host = past(1), .global = kNoDeadline};
  EXPECT_EQ(code_of(deadlines.named(connect_timeout(), past(2), "h:22")), "connect/timeout");
  const auto command = test::some_error(ErrorKind::timeout, "command");
  EXPECT_EQ(code_of(deadlines.named(command, past(2), "h:22")), "timeout/command");
}

TEST(RunDeadlinesTest, ErrorsThatAreNotOfTimeStand) {
  const RunDeadlines passed_ones{.host = past(1), .global = past(1)};
  for (const auto& [kind, code] :
       std::vector<std::pair<ErrorKind, std::string>>{{ErrorKind::connect, "refused"},
                                                      {ErrorKind::connect, "not_ssh"},
                                                      {ErrorKind::host_key, "changed"},
                                                      {ErrorKind::auth, "refused"},
                                                      {ErrorKind::cancelled, "signal"},
                                                      {ErrorKind::connection_lost, "silent"},
                                                      {ErrorKind::local_io, "broken_pipe"}}) {
    const auto error = test::some_error(kind, code);
    EXPECT_EQ(passed_ones.named(error, future(10), "h:22").code, code);
  }
}

TEST(RunDeadlinesTest, AnAgentThatIsWaitedForInVainIsOfTimeOnlyWhenItIsOver) {
  const auto agent = test::some_error(ErrorKind::auth, "agent_unavailable");
  const RunDeadlines later{.host = future(5), .global = kNoDeadline};
  EXPECT_EQ(code_of(later.named(agent, future(10), "h:22")), "auth/agent_unavailable");
  const RunDeadlines over{.host = past(1), .global = kNoDeadline};
  const auto named = over.named(agent, future(10), "h:22");
  EXPECT_EQ(code_of(named), "timeout/host");
  EXPECT_EQ(named.phase(), Phase::authenticate);
}

TEST(RunDeadlinesTest, TheErrorSaysWhereItWasAndWhatToDo) {
  const RunDeadlines deadlines{.host = kNoDeadline, .global = past(1)};
  for (const Phase phase : {Phase::connect, Phase::authenticate, Phase::execute}) {
    const auto error = deadlines.named(connect_timeout(phase), future(10), "192.0.2.5:22");
    EXPECT_EQ(error.phase(), phase);
    EXPECT_THAT(error.message, HasSubstr("192.0.2.5:22"));
    EXPECT_THAT(error.message, HasSubstr("within the global timeout"));
    EXPECT_THAT(error.hint, HasSubstr("--global-timeout"));
  }
}

}  // namespace
}  // namespace sshx::exec
