#include <gmock/gmock.h>

#include <clocale>
#include <string>
#include <vector>

#include "core/text.h"

namespace sshx {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

// B175: ASCII rules, whatever the locale.
TEST(LowerAscii, TouchesAsciiLettersOnly) {
  EXPECT_EQ(lower_ascii("WEB-1.Example"), "web-1.example");
  EXPECT_EQ(lower_ascii("I"), "i");
  EXPECT_EQ(lower_ascii("\xC4\xB0\xC3\x84@[`{"), "\xC4\xB0\xC3\x84@[`{");
}

TEST(Trim, TakesWhiteSpaceFromBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(Listed, NamesTheFirstAndCountsTheRest) {
  const std::vector<std::string> words{"a", "b", "c"};
  EXPECT_EQ(listed(words, 3), "a, b, c");
  EXPECT_EQ(listed(words, 2), "a, b and 1 more");
  EXPECT_EQ(listed({}, 2), "");
}

TEST(Nearest, FindsTypos) {
  const std::vector<std::string> words{"--target", "--timeout", "--tag", "--json"};
  EXPECT_THAT(nearest("--taget", words), Optional(Eq("--target")));
  EXPECT_THAT(nearest("--tiemout", words), Optional(Eq("--timeout")));
  EXPECT_THAT(nearest("--jsn", words), Optional(Eq("--json")));
  EXPECT_THAT(nearest("--json", words), Optional(Eq("--json")));
}

TEST(Nearest, SaysNothingWhereNothingIsNear) {
  const std::vector<std::string> words{"run", "host", "audit"};
  EXPECT_EQ(nearest("xyz", words), std::nullopt);
  EXPECT_EQ(nearest("deploy", words), std::nullopt);
  EXPECT_EQ(nearest("ru", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
  EXPECT_EQ(nearest("run", std::vector<std::string>{}), std::nullopt);
}

TEST(Nearest, CountsASwapAsOneAndTakesTheFirstOfEquals) {
  EXPECT_THAT(nearest("rnu", std::vector<std::string>{"run"}), Optional(Eq("run")));
  EXPECT_THAT(nearest("web-3", std::vector<std::string>{"web-1", "web-2"}), Optional(Eq("web-1")));
}

}  // namespace
}  // namespace sshx
