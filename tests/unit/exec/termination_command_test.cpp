#include <gmock/gmock.h>

#include "exec/termination.h"

namespace sshx::exec {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// B090: the account's login shell reads it first, whichever that is.
TEST(TerminationCommandTest, IsOneSingleQuotedWordForAnyLoginShell) {
  const std::string command = termination_command("0123abcd", "INT TERM KILL");
  EXPECT_THAT(command, StartsWith("exec /bin/sh -c '"));
  EXPECT_EQ(command.back(), '\'');
  const std::string word = command.substr(17, command.size() - 18);
  // What any shell may read in single quotes: csh history, fish escapes, another quote, line ends.
  for (const char special : {'\'', '!', '\n', '\r', '\0'})
    EXPECT_EQ(word.find(special), std::string::npos) << static_cast<int>(special);
  EXPECT_THAT(word, Not(HasSubstr("\\\\")));
}

TEST(TerminationCommandTest, CarriesItsNonceAndItsSteps) {
  const std::string command = termination_command("0123abcd", "INT TERM KILL");
  EXPECT_THAT(command, HasSubstr("0123abcd"));
  EXPECT_THAT(command, HasSubstr("INT TERM KILL"));
  EXPECT_NE(command, termination_command("0123abce", "INT TERM KILL"));
  EXPECT_NE(command, termination_command("0123abcd", "-"));
}

}  // namespace
}  // namespace sshx::exec
