#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "exec/fold_names.h"

namespace sshx::exec {
namespace {

TEST(NaturallyBeforeTest, NumbersCountAsNumbers) {
  const std::vector<std::string> ordered{"",
                                         "2",
                                         "10",
                                         "db-1",
                                         "web",
                                         "web-01",
                                         "web-1",
                                         "web-2",
                                         "web-2-b",
                                         "web-2a",
                                         "web-10",
                                         "web-10-9",
                                         "web-10-10",
                                         "web-99999999999999999998",
                                         "web-99999999999999999999",
                                         "web-a",
                                         "web-b1",
                                         "web-b02",
                                         "x\xC3\xA9"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(naturally_before(ordered[i], ordered[j]), i < j) << ordered[i] << " " << ordered[j];
    }
  }
}

struct Folding {
  std::vector<std::string_view> names;
  std::string_view folded;
};

class FoldNamesTest : public testing::TestWithParam<Folding> {};

TEST_P(FoldNamesTest, GivesTheSameForEachOrder) {
  auto names = GetParam().names;
  std::mt19937 generator(7);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(fold_names(names), GetParam().folded);
    std::ranges::shuffle(names, generator);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, FoldNamesTest,
    testing::Values(Folding{{}, ""}, Folding{{"web-1"}, "web-1"},
                    Folding{{"web-1", "web-2"}, "web-[1-2]"},
                    Folding{{"web-1", "web-2", "web-3", "web-7"}, "web-[1-3,7]"},
                    Folding{{"web-9", "web-10", "web-11"}, "web-[9-11]"},
                    Folding{{"web-08", "web-09", "web-10"}, "web-[08-10]"},
                    // A range would name web-9, which is another host.
                    Folding{{"web-09", "web-9", "web-10"}, "web-[09,9-10]"},
                    Folding{{"web-5", "web-06", "web-7"}, "web-[5,06,7]"},
                    Folding{{"web-0", "web-1", "web-00"}, "web-[0,00,1]"},
                    Folding{{"n1.example.net", "n2.example.net", "n4.example.org"},
                            "n[1-2].example.net,n4.example.org"},
                    Folding{{"1", "2", "3"}, "[1-3]"},
                    Folding{{"10.0.0.1", "10.0.0.2", "10.0.1.1"}, "10.0.0.[1-2],10.0.1.1"},
                    Folding{{"alpha", "beta", "web-1"}, "alpha,beta,web-1"},
                    Folding{{"db-1", "cache", "web-2", "web-1", "app-3"},
                            "app-3,cache,db-1,web-[1-2]"},
                    Folding{{"web-1", "db-1"}, "db-1,web-1"}));

INSTANTIATE_TEST_SUITE_P(
    // B112
    OddNames, FoldNamesTest,
    testing::Values(Folding{{"a-1-b-2-c", "a-1-b-3-c", "a-1-b-4-c"}, "a-1-b-[2-4]-c"},
                    Folding{{"a-1-b-2-c", "a-2-b-2-c"}, "a-[1-2]-b-2-c"},
                    Folding{{"a-1-b-1", "a-2-b-2"}, "a-1-b-1,a-2-b-2"},
                    Folding{{"r1n1", "r1n2", "r2n1", "r3n1"}, "r1n[1-2],r[2-3]n1"},
                    Folding{{"r3n1", "r10n1", "r9n1", "r1n1", "r1n2"}, "r1n[1-2],r[3,9-10]n1"},
                    Folding{{"x[1]", "x[2]"}, "x[1],x[2]"},
                    Folding{{"[::1]:22", "[::1]:23"}, "[::1]:22,[::1]:23"},
                    Folding{{"x-99999999999999999999", "x-100000000000000000000"},
                            "x-[99999999999999999999,100000000000000000000]"},
                    Folding{
                        {"x-999999999999999998", "x-999999999999999999", "x-1000000000000000000"},
                        "x-[999999999999999998-999999999999999999,1000000000000000000]"}));

// B112
TEST(FoldManyNamesTest, ThousandsAreOneRange) {
  std::vector<std::string> names;
  for (int i = 1; i <= 5000; ++i) names.push_back("a-1-b-" + std::to_string(i) + "-c");
  std::vector<std::string_view> views(names.begin(), names.end());
  std::ranges::shuffle(views, std::mt19937(3));
  EXPECT_EQ(fold_names(views), "a-1-b-[1-5000]-c");
}

}  // namespace
}  // namespace sshx::exec
