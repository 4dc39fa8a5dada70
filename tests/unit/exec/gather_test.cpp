#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "exec/gather.h"

namespace sshx::exec {
namespace {

using testing::ElementsAre;

/// The groups' names, one string a group.
std::vector<std::string> groups_of(const std::vector<TargetOutput>& targets) {
  std::vector<std::string> groups;
  for (const auto& group : gather(targets)) {
    std::string names;
    for (const auto name : group.names) names += std::string(names.empty() ? "" : " ").append(name);
    groups.push_back(names);
  }
  return groups;
}

std::string text_of(const std::vector<TargetOutput>& targets,
                    ControlBytes control_bytes = ControlBytes::kept) {
  std::string text;
  for (const auto& group : gather(targets)) text += group_text(group, control_bytes);
  return text;
}

TEST(GatherTest, TheSameOutputAndOutcomeIsOneGroup) {
  EXPECT_THAT(groups_of({{"web-2", "a", "e", "exit 0"}, {"web-1", "a", "e", "exit 0"}}),
              ElementsAre("web-1 web-2"));
}

TEST(GatherTest, WhatDiffersInOneThingIsApart) {
  EXPECT_THAT(groups_of({{"a", "out", "error", "exit 0"},
                         {"b", "out\n", "error", "exit 0"},
                         {"c", "out", "errors", "exit 0"},
                         {"d", "out", "error", "exit 1"},
                         {"e", "outerror", "", "exit 0"},
                         {"f", "", "outerror", "exit 0"}}),
              ElementsAre("a", "b", "c", "d", "e", "f"));
  const std::string zero("x\0y", 3);
  EXPECT_THAT(groups_of({{"a", zero, "", "exit 0"}, {"b", "x", "", "exit 0"}}),
              ElementsAre("a", "b"));
}

TEST(GatherTest, LargestFirstThenByTheFirstNameInEachOrder) {
  std::vector<TargetOutput> targets{
      {"web-10", "common", "", "exit 0"}, {"web-9", "common", "", "exit 0"},
      {"web-1", "common", "", "exit 0"},  {"db-10", "other", "", "exit 0"},
      {"db-9", "other", "", "exit 0"},    {"db-2", "more", "", "exit 0"},
      {"db-11", "more", "", "exit 0"},    {"app", "", "", "connect/refused"}};
  std::mt19937 generator(5);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(groups_of(targets),
                ElementsAre("web-1 web-9 web-10", "db-2 db-11", "db-9 db-10", "app"));
    std::ranges::shuffle(targets, generator);
  }
}

TEST(GatherTest, NoTargetsAreNoGroups) { EXPECT_TRUE(gather({}).empty()); }

// B196
TEST(GroupTextTest, SaysWhoPrintedItAndHowTheyEnded) {
  EXPECT_EQ(text_of({{"web-1", "up\n", "", "exit 0"},
                     {"web-2", "up\n", "", "exit 0"},
                     {"web-3", "up\n", "", "exit 0"},
                     {"web-7", "up\n", "", "exit 0"},
                     {"db-1", "", "", "connect/refused"}}),
            "--- web-[1-3,7] (4): exit 0\nup\n--- db-1 (1): connect/refused\n");
}

TEST(GroupTextTest, StderrStandsApart) {
  EXPECT_EQ(text_of({{"web-1", "some\n", "no disk\n", "exit 1"}}),
            "--- web-1 (1): exit 1\nsome\n--- web-1 (1), stderr\nno disk\n");
  EXPECT_EQ(text_of({{"web-1", "", "no disk", "exit 1"}}),
            "--- web-1 (1): exit 1\n--- web-1 (1), stderr\nno disk\n");
}

TEST(GroupTextTest, OutputWithoutAnEndOfLineGetsOne) {
  EXPECT_EQ(text_of({{"a", "x", "", "exit 0"}, {"b", "x\n", "", "exit 0"}}),
            "--- a (1): exit 0\nx\n--- b (1): exit 0\nx\n");
}

// B149
TEST(GroupTextTest, ControlBytesAreVisibleWhereThatIsWanted) {
  const std::vector<TargetOutput> targets{{"a", "\x1b[2J\tx\xE6", "\r\n", "exit 0"}};
  EXPECT_EQ(text_of(targets, ControlBytes::visible),
            "--- a (1): exit 0\n\\x1b[2J\tx\\xe6\n--- a (1), stderr\n\\x0d\n");
  EXPECT_EQ(text_of(targets), "--- a (1): exit 0\n\x1b[2J\tx\xE6\n--- a (1), stderr\n\r\n");
}

TEST(GroupTextTest, AnOutcomeCannotDriveATerminal) {
  EXPECT_EQ(text_of({{"a", "", "", "remote_io: \x1b[2J\n"}}),
            "--- a (1): remote_io: \\x1b[2J\\n\n");
}

}  // namespace
}  // namespace sshx::exec
