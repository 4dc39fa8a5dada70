#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "core/paths.h"
#include "exec/plan.h"
#include "exec/selection.h"
#include "inventory/hosts_file.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using inventory::Host;
using inventory::Reach;
using test::checked_run;
using test::outcome_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Names = std::vector<std::string>;

Host host(const std::string& name, const std::string& address, const Names& groups = {},
          const std::map<std::string, std::string>& tags = {}) {
  Host host;
  host.name = name;
  host.address = address;
  host.groups = groups;
  host.tags = tags;
  return host;
}

class SelectionTest : public testing::Test {
 protected:
  SelectionTest() {
    store({host("web-2", "192.0.2.2", {"web"}, {{"env", "prod"}}),
           host("db-1", "192.0.2.4", {"db"}, {{"env", "prod"}}),
           host("web-1", "192.0.2.1", {"web"}, {{"env", "test"}}),
           host("web-10", "192.0.2.3", {"web", "canary"}, {{"env", "prod"}}),
           host("lone", "192.0.2.5")});
  }

  static void store(std::vector<Host> hosts) {
    Json list = Json::object();
    for (const auto& one : hosts) list[one.name] = inventory::host_to_json(one);
    const Json file{{"schema_version", "sshx.hosts_file.v1"}, {"hosts", std::move(list)}};
    test::write_file(hosts_file_path().value(), dump_json(file));
  }

  /// Names that are written into a file, for hosts_from.
  [[nodiscard]] std::string file_of(const std::string& text) const {
    test::write_file(folder_.file("names"), text);
    return folder_.file("names");
  }

 private:
  test::ScratchFolder folder_;
  test::Variable home_{"SSHX_HOME", folder_.path().string()};
};

Result<Selection> selected(const Json& request, const Reach& reach = {}) {
  return select_targets(checked_run(request), reach);
}

Names names_of(const Selection& selection) {
  Names names;
  for (const auto& target : selection.targets) names.push_back(target.alias.value_or("?"));
  return names;
}

/// The names that a request selects; what went wrong, as one element, if it did.
Names selects(const Json& request, const Reach& reach = {}) {
  const auto selection = selected(request, reach);
  return selection ? names_of(*selection) : Names{outcome_of(selection)};
}

std::string told(const Json& request, const Reach& reach = {}) {
  const auto selection = selected(request, reach);
  if (selection) return "ok";
  return outcome_of(selection) + ": " + selection.error().message + "; " + selection.error().hint;
}

TEST_F(SelectionTest, IsSortedByNameEachOnce) {
  EXPECT_THAT(selects({{"targets", {"web-2", "db-1", "web-2", "web-10"}}}),
              ElementsAre("db-1", "web-10", "web-2"));
}

TEST_F(SelectionTest, GroupsAreAlternativesAndTagsMustAllMatch) {
  EXPECT_THAT(selects({{"groups", {"web"}}}), ElementsAre("web-1", "web-10", "web-2"));
  EXPECT_THAT(selects({{"groups", {"db", "canary"}}}), ElementsAre("db-1", "web-10"));
  EXPECT_THAT(selects({{"tags", {"env=prod"}}}), ElementsAre("db-1", "web-10", "web-2"));
  EXPECT_THAT(selects({{"groups", {"web"}}, {"tags", {"env=prod"}}}),
              ElementsAre("web-10", "web-2"));
}

TEST_F(SelectionTest, AllHostsAreAllOrThoseWithTheTags) {
  EXPECT_THAT(selects({{"all_hosts", true}}),
              ElementsAre("db-1", "lone", "web-1", "web-10", "web-2"));
  EXPECT_THAT(selects({{"all_hosts", true}, {"tags", {"env=test"}}}), ElementsAre("web-1"));
}

TEST_F(SelectionTest, NamedHostsComeOnTopOfThoseThatMatch) {
  EXPECT_THAT(selects({{"targets", {"lone"}}, {"groups", {"db"}}, {"tags", {"env=prod"}}}),
              ElementsAre("db-1", "lone"));
  EXPECT_THAT(selects({{"targets", {"db-1"}}, {"hosts_from", file_of("lone\n")}}),
              ElementsAre("db-1", "lone"));
}

TEST_F(SelectionTest, ExcludedHostsAreLeftOutHoweverTheyCameIn) {
  EXPECT_THAT(selects({{"all_hosts", true}, {"exclude", {"web-1", "lone"}}}),
              ElementsAre("db-1", "web-10", "web-2"));
  EXPECT_THAT(selects({{"all_hosts", true}, {"exclude", {"web-1*"}}}),
              ElementsAre("db-1", "lone", "web-2"));
  EXPECT_THAT(selects({{"targets", {"lone", "db-1"}}, {"exclude", {"lone"}}}), ElementsAre("db-1"));
  // It is a host, though not one that would have been used.
  EXPECT_THAT(selects({{"groups", {"db"}}, {"exclude", {"web-*"}}}), ElementsAre("db-1"));
}

TEST_F(SelectionTest, FilesOfNamesMayHoldCommentsAndBlankLines) {
  const auto file = file_of("# the fleet\r\n\n  web-2 # the second\nlone\r\n\t\ndb-1");
  EXPECT_THAT(selects({{"hosts_from", file}}), ElementsAre("db-1", "lone", "web-2"));
}

TEST_F(SelectionTest, AFileOfNamesIsTakenAsStrictlyAsTheNames) {
  const auto text = told({{"hosts_from", file_of("db-1\n\nweb-3\n")}});
  EXPECT_THAT(text, HasSubstr("config/unknown_target"));
  EXPECT_THAT(text, HasSubstr("names:3: "));
  EXPECT_THAT(text, HasSubstr("web-1"));
  EXPECT_THAT(selects({{"hosts_from", file_of("db-1 lone\n")}}),
              ElementsAre("config/unknown_target"));
  EXPECT_THAT(selects({{"hosts_from", file_of("# nobody\n")}}), ElementsAre("config/no_match"));
  EXPECT_THAT(selects({{"hosts_from", "/nowhere/at/all"}}), ElementsAre("local_io/not_found"));
}

TEST_F(SelectionTest, StdinGivesOneThingOnly) {
  for (const auto* name : {"stdin_inherit", "script_stdin", "pty"}) {
    EXPECT_THAT(selects({{"hosts_from", "-"}, {name, true}}),
                ElementsAre("config/request_conflict"))
        << name;
  }
}

TEST_F(SelectionTest, ShardsAreEveryNthAndTogetherAll) {
  const auto shard = [](const std::string& text) {
    return selects({{"all_hosts", true}, {"shard", text}});
  };
  EXPECT_THAT(shard("1/2"), ElementsAre("db-1", "web-1", "web-2"));
  EXPECT_THAT(shard("2/2"), ElementsAre("lone", "web-10"));
  EXPECT_THAT(shard("1/1"), ElementsAre("db-1", "lone", "web-1", "web-10", "web-2"));
  EXPECT_THAT(shard("5/100000"), ElementsAre("web-2"));
  for (int parts = 1; parts <= 7; ++parts) {
    Names all;
    for (int part = 1; part <= parts; ++part) {
      const auto names = shard(std::to_string(part) + "/" + std::to_string(parts));
      all.insert(all.end(), names.begin(), names.end());
    }
    std::ranges::sort(all);
    EXPECT_THAT(all, ElementsAre("db-1", "lone", "web-1", "web-10", "web-2")) << parts;
  }
}

TEST_F(SelectionTest, AnEmptyShardIsASelectionOfNothing) {
  const auto selection = selected({{"groups", {"db"}}, {"shard", "2/2"}});
  ASSERT_EQ(outcome_of(selection), "ok");
  EXPECT_THAT(selection->targets, IsEmpty());
  EXPECT_FALSE(selection->is_single);
}

TEST_F(SelectionTest, AShardOutOfRangeIsRefused) {
  for (const std::string text : {"0/2", "3/2", "1/0", "1/100001", "99999999999/1"}) {
    EXPECT_THAT(told({{"all_hosts", true}, {"shard", text}}),
                HasSubstr("config/range: shard (--shard) is " + text))
        << text;
  }
}

TEST_F(SelectionTest, IsSingleByTheFormOfTheRequestAlone) {
  const auto single = [](const Json& request) {
    const auto selection = selected(request);
    EXPECT_EQ(outcome_of(selection), "ok") << dump_json(request);
    return selection && selection->is_single;
  };
  EXPECT_TRUE(single({{"targets", {"db-1"}}}));
  EXPECT_TRUE(single({{"targets", {"db-1"}}, {"groups", Json::array()}, {"all_hosts", false}}));
  EXPECT_TRUE(single({{"targets", {"db-1"}}, {"concurrency", 3}}));
  EXPECT_TRUE(single({{"address", "192.0.2.9"}}));
  // Each of these selects one host as well.
  EXPECT_FALSE(single({{"targets", {"db-1", "db-1"}}}));
  EXPECT_FALSE(single({{"groups", {"db"}}}));
  EXPECT_FALSE(single({{"tags", {"env=test"}}}));
  EXPECT_FALSE(single({{"targets", {"db-1"}}, {"groups", {"db"}}}));
  EXPECT_FALSE(single({{"targets", {"db-1"}}, {"exclude", {"lone"}}}));
  EXPECT_FALSE(single({{"targets", {"db-1"}}, {"shard", "1/1"}}));
  EXPECT_FALSE(single({{"hosts_from", file_of("db-1\n")}}));
}

TEST_F(SelectionTest, AnAddressStandsAlone) {
  const Json others{{"targets", {"db-1"}}, {"groups", {"db"}},         {"tags", {"env=prod"}},
                    {"all_hosts", true},   {"hosts_from", "anywhere"}, {"exclude", {"db-1"}},
                    {"shard", "1/2"}};
  for (const auto& [name, value] : others.items()) {
    EXPECT_THAT(told({{"address", "192.0.2.9"}, {name, value}}),
                HasSubstr("config/request_conflict: " + name))
        << name;
  }
}

TEST_F(SelectionTest, AllHostsAndGroupsConflict) {
  EXPECT_THAT(selects({{"all_hosts", true}, {"groups", {"db"}}}),
              ElementsAre("config/request_conflict"));
}

TEST_F(SelectionTest, NothingAskedForIsNotNothingFound) {
  EXPECT_THAT(told(Json::object()), HasSubstr("config/no_target"));
  EXPECT_THAT(told(Json::object()), HasSubstr("db-1, lone"));
  EXPECT_THAT(selects({{"exclude", {"db-1"}}}), ElementsAre("config/no_target"));
  EXPECT_THAT(selects({{"shard", "1/2"}}), ElementsAre("config/no_target"));
  const auto none = told({{"groups", {"db"}}, {"tags", {"env=test"}}});
  EXPECT_THAT(none, HasSubstr("config/no_match"));
  EXPECT_THAT(none, HasSubstr("db-1, lone"));
  EXPECT_THAT(selects({{"groups", {"db"}}, {"exclude", {"*"}}}), ElementsAre("config/no_match"));
}

TEST_F(SelectionTest, WhatNobodyHasIsATypo) {
  EXPECT_THAT(told({{"targets", {"db-1", "wbe-1"}}}), HasSubstr("did you mean"));
  EXPECT_THAT(selects({{"groups", {"web", "prd"}}}), ElementsAre("config/unknown_group"));
  EXPECT_THAT(selects({{"targets", {"db-1"}}, {"tags", {"env=x"}}}),
              ElementsAre("config/unknown_tag"));
  EXPECT_THAT(told({{"all_hosts", true}, {"exclude", {"db-2"}}}),
              HasSubstr("config/unknown_target: exclude (--exclude): "));
  const auto pattern = told({{"all_hosts", true}, {"exclude", {"mail-*"}}});
  EXPECT_THAT(pattern, HasSubstr("config/unknown_target: exclude (--exclude): "));
  EXPECT_THAT(pattern, HasSubstr("db-1, lone"));
}

TEST_F(SelectionTest, AnEmptyInventorySaysHowToFillIt) {
  store({});
  EXPECT_THAT(told({{"all_hosts", true}}), HasSubstr("config/no_match"));
  EXPECT_THAT(told({{"all_hosts", true}}), HasSubstr("sshx host add"));
  EXPECT_THAT(told({{"groups", {"web"}}}), HasSubstr("config/unknown_group"));
}

TEST_F(SelectionTest, OnlyHostsWithinReachExist) {
  const Reach web({}, {"web"});
  EXPECT_THAT(selects({{"all_hosts", true}}, web), ElementsAre("web-1", "web-10", "web-2"));
  EXPECT_THAT(selects({{"targets", {"web-1", "db-1"}}}, web),
              ElementsAre("blocked/target_not_allowed"));
  EXPECT_THAT(selects({{"hosts_from", file_of("db-1\n")}}, web),
              ElementsAre("blocked/target_not_allowed"));
  for (const Json& request :
       {Json({{"groups", {"db"}}}), Json({{"all_hosts", true}, {"exclude", {"db-1"}}}),
        Json({{"all_hosts", true}, {"exclude", {"db-*"}}}),
        Json({{"groups", {"canary"}}, {"tags", {"env=test"}}})}) {
    const auto text = told(request, web);
    EXPECT_THAT(text, Not(HasSubstr("ok"))) << dump_json(request);
    // What is asked for is repeated; nothing else is told of hosts out of reach.
    EXPECT_THAT(text, Not(HasSubstr("lone"))) << dump_json(request);
    EXPECT_THAT(text, Not(HasSubstr("known groups: canary, db"))) << dump_json(request);
  }
  EXPECT_THAT(told({{"all_hosts", true}}, Reach({"nobody"}, {})),
              HasSubstr("no host of the inventory may be used here"));
}

TEST_F(SelectionTest, AReachHoldsForEachHostsAccount) {
  const Reach web({}, {"web"});
  EXPECT_THAT(selects({{"all_hosts", true}, {"user", "root-of-all"}}, web),
              ElementsAre("blocked/override_not_allowed"));
  EXPECT_THAT(selects({{"all_hosts", true}, {"port", 2222}}, web),
              ElementsAre("blocked/override_not_allowed"));
}

TEST_F(SelectionTest, OverridesHoldForAll) {
  const auto selection =
      selected({{"groups", {"web"}}, {"user", "bob"}, {"port", 2200}, {"identity", "/keys/id"}});
  ASSERT_EQ(outcome_of(selection), "ok");
  for (const auto& target : selection->targets) {
    EXPECT_EQ(target.user, "bob");
    EXPECT_EQ(target.port, 2200);
    EXPECT_EQ(target.identity, "/keys/id");
  }
  EXPECT_THAT(selects({{"groups", {"web"}}, {"user", "a b"}}), ElementsAre("config/user"));
}

TEST_F(SelectionTest, OneAccountUnderTwoNamesIsSaid) {
  EXPECT_THAT(selected({{"all_hosts", true}})->notes, IsEmpty());
  store({host("a", "web.example.org"), host("b", "WEB.example.org"), host("c", "192.0.2.1")});
  EXPECT_THAT(selected({{"all_hosts", true}, {"user", "bob"}})->notes,
              ElementsAre("a, b are all bob@web.example.org:22: what is run goes there 2 times"));
  EXPECT_THAT(selected({{"targets", {"a", "c"}}})->notes, IsEmpty());
}

TEST_F(SelectionTest, NotesStayFew) {
  std::vector<Host> hosts;
  for (int i = 0; i < 40; ++i) {
    const auto name = "host-" + std::to_string(100 + i);
    hosts.push_back(host(name, "192.0.2." + std::to_string(i % 20)));
  }
  store(hosts);
  const auto notes = selected({{"all_hosts", true}})->notes;
  ASSERT_EQ(notes.size(), 11U);
  EXPECT_THAT(notes.back(), HasSubstr("10 more accounts"));
}

// The order in which a request names its targets means nothing.
TEST_F(SelectionTest, TheOrderOfTargetsChangesNeitherSelectionNorPlan) {
  Names names{"web-1", "web-2", "web-10", "db-1", "lone", "db-1"};
  // Always the same orders: a failure must come again.
  std::mt19937 random(4);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  const auto known_hosts = file_of("");
  std::optional<std::string> first_hash;
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(names, random);
    const auto request = checked_run({{"targets", names}, {"known_hosts", known_hosts}});
    const auto selection = select_targets(request, {});
    ASSERT_EQ(outcome_of(selection), "ok");
    EXPECT_THAT(names_of(*selection), ElementsAre("db-1", "lone", "web-1", "web-10", "web-2"));
    const auto sessions = plan_sessions(request, *selection);
    ASSERT_EQ(outcome_of(sessions), "ok");
    const auto plan =
        make_plan("run", *sessions, test::command_action("uptime"), test::some_limits());
    EXPECT_EQ(plan.hash, first_hash.value_or(plan.hash));
    first_hash = plan.hash;
  }
}

// Nothing here may be quadratic; the test's time limit is the judge.
TEST_F(SelectionTest, CopesWithTenThousandHosts) {
  std::vector<Host> hosts;
  Names names;
  std::string file;
  for (int i = 0; i < 10'000; ++i) {
    names.push_back("host-" + std::to_string(i));
    hosts.push_back(host(names.back(), "192.0.2.1", {"all"}, {{"env", "prod"}}));
    file += names.back() + "\n";
  }
  store(hosts);
  const Json request{{"targets", names},
                     {"hosts_from", file_of(file)},
                     {"groups", {"all"}},
                     {"exclude", Names(names.begin(), names.begin() + 5000)}};
  for (const Reach& reach : {Reach(), Reach({"host-*"}, {})}) {
    const auto selection = selected(request, reach);
    ASSERT_EQ(outcome_of(selection), "ok");
    EXPECT_EQ(selection->targets.size(), 5000U);
    EXPECT_EQ(selection->notes.size(), 1U);
  }
}

class PlanSessionsTest : public SelectionTest {};

TEST_F(PlanSessionsTest, AreInTheOrderOfTheSelectionAndShareTheTrust) {
  const auto request = checked_run({{"groups", {"web"}},
                                    {"known_hosts", file_of("")},
                                    {"identity", "/keys/id"},
                                    {"connect_timeout_seconds", 7}});
  const auto selection = select_targets(request, {});
  ASSERT_EQ(outcome_of(selection), "ok");
  const auto sessions = plan_sessions(request, *selection);
  ASSERT_EQ(outcome_of(sessions), "ok");
  ASSERT_EQ(sessions->size(), 3U);
  for (std::size_t i = 0; i < sessions->size(); ++i) {
    const auto& session = sessions->at(i);
    EXPECT_EQ(session.target.alias, selection->targets[i].alias);
    EXPECT_EQ(session.identities.file, "/keys/id");
    EXPECT_EQ(session.connect_timeout_seconds, 7);
    // The very same records, not a copy of them.
    EXPECT_EQ(&session.trust.known_hosts.digest(), &sessions->front().trust.known_hosts.digest());
  }
}

TEST_F(PlanSessionsTest, EachHostHasItsOwnIdentity) {
  auto one = host("one", "192.0.2.1");
  one.identity = "/keys/one";
  auto two = host("two", "192.0.2.2");
  two.identity = "/keys/two";
  store({one, two, host("three", "192.0.2.3")});
  const auto request = checked_run({{"all_hosts", true}, {"known_hosts", file_of("")}});
  const auto sessions = plan_sessions(request, select_targets(request, {}).value());
  ASSERT_EQ(outcome_of(sessions), "ok");
  EXPECT_EQ(sessions->at(0).identities.file, "/keys/one");
  EXPECT_EQ(sessions->at(1).identities.file, "");
  EXPECT_EQ(sessions->at(2).identities.file, "/keys/two");
}

TEST_F(PlanSessionsTest, AFaultOfTheTrustIsTheRequests) {
  const auto request =
      checked_run({{"all_hosts", true}, {"accept_unknown_host", true}, {"insecure_hostkey", true}});
  EXPECT_EQ(outcome_of(plan_sessions(request, select_targets(request, {}).value())),
            "config/request_conflict");
}

TEST_F(PlanSessionsTest, NoTargetsAreNoSessions) {
  const auto request =
      checked_run({{"groups", {"db"}}, {"shard", "2/2"}, {"known_hosts", file_of("")}});
  const auto sessions = plan_sessions(request, select_targets(request, {}).value());
  ASSERT_EQ(outcome_of(sessions), "ok");
  EXPECT_THAT(*sessions, IsEmpty());
}

TEST_F(PlanSessionsTest, OneSessionIsNotMadeOfSeveralTargets) {
  const auto request = checked_run({{"groups", {"web"}}, {"known_hosts", file_of("")}});
  EXPECT_EQ(outcome_of(plan_session(request)), "config/not_supported");
}

}  // namespace
}  // namespace sshx::exec
