#include <gmock/gmock.h>

#include "core/paths.h"
#include "exec/selection.h"
#include "exec/target.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using test::checked_run;
using test::outcome_of;
using testing::HasSubstr;

inventory::Host bare_host(const std::string& name, const std::string& address) {
  inventory::Host host;
  host.name = name;
  host.address = address;
  return host;
}

/// The one target that a request selects.
Result<Target> resolve_target(const Json& request, const inventory::Reach& reach = {}) {
  const auto selection = select_targets(request, reach);
  if (!selection) return selection.error();
  EXPECT_TRUE(selection->is_single);
  EXPECT_EQ(selection->targets.size(), 1U);
  return selection->targets.front();
}

class TargetTest : public testing::Test {
 protected:
  TargetTest() {
    inventory::Hosts hosts({{.name = "web-1",
                             .address = "192.0.2.5",
                             .port = 2222,
                             .user = "alice",
                             .identity = "~/.ssh/web",
                             .groups = {"web", "prod"},
                             .tags = {{"env", "prod"}},
                             .description = "the first"},
                            bare_host("db-1", "db.example.com")});
    const auto stored = inventory::change_hosts(hosts_file_path().value(),
                                                [&hosts](inventory::Hosts& current) -> Status {
                                                  current = hosts;
                                                  return {};
                                                });
    EXPECT_TRUE(stored.has_value());
  }

  [[nodiscard]] const test::ScratchFolder& folder() const { return folder_; }

 private:
  test::ScratchFolder folder_;
  test::Variable home_{"SSHX_HOME", folder_.path().string()};
};

TEST_F(TargetTest, ANameGivesTheHost) {
  const auto target = resolve_target(checked_run({{"targets", {"web-1"}}}));
  ASSERT_EQ(outcome_of(target), "ok");
  EXPECT_EQ(target->alias, "web-1");
  EXPECT_EQ(target->address, "192.0.2.5");
  EXPECT_EQ(target->port, 2222);
  EXPECT_EQ(target->user, "alice");
  EXPECT_EQ(target->identity, "~/.ssh/web");
  EXPECT_THAT(target->groups, testing::UnorderedElementsAre("web", "prod"));
  EXPECT_EQ(target->tags.at("env"), "prod");
}

TEST_F(TargetTest, WhatAHostDoesNotSayIsAsWithSsh) {
  const auto target = resolve_target(checked_run({{"targets", {"db-1"}}}));
  ASSERT_EQ(outcome_of(target), "ok");
  EXPECT_EQ(target->port, 22);
  EXPECT_EQ(target->user, local_user_name());
  EXPECT_EQ(target->identity, "");
}

TEST_F(TargetTest, TheRequestGoesOnTop) {
  const auto target = resolve_target(checked_run(
      {{"targets", {"web-1"}}, {"user", "bob"}, {"port", 2200}, {"identity", "/keys/other"}}));
  ASSERT_EQ(outcome_of(target), "ok");
  EXPECT_EQ(target->alias, "web-1");
  EXPECT_EQ(target->address, "192.0.2.5");
  EXPECT_EQ(target->user, "bob");
  EXPECT_EQ(target->port, 2200);
  EXPECT_EQ(target->identity, "/keys/other");
}

TEST_F(TargetTest, AnAddressIsTakenLiterally) {
  struct Case {
    std::string text;
    std::string host;
    std::uint16_t port;
    std::string user;
  };

  const std::string me = local_user_name();
  for (const Case& one :
       {Case{"example.com", "example.com", 22, me},
        Case{"example.com:2222", "example.com", 2222, me},
        Case{"carol@example.com", "example.com", 22, "carol"},
        Case{"carol@[2001:db8::5]:2222", "2001:db8::5", 2222, "carol"},
        Case{"2001:db8::5", "2001:db8::5", 22, me}, Case{"192.0.2.9", "192.0.2.9", 22, me},
        // A name of the inventory is not looked up there.
        Case{"web-1", "web-1", 22, me}}) {
    const auto target = resolve_target(checked_run({{"address", one.text}}));
    ASSERT_EQ(outcome_of(target), "ok") << one.text;
    EXPECT_EQ(target->alias, std::nullopt) << one.text;
    EXPECT_EQ(target->address, one.host) << one.text;
    EXPECT_EQ(target->port, one.port) << one.text;
    EXPECT_EQ(target->user, one.user) << one.text;
  }
}

TEST_F(TargetTest, AnAddressTakesOverridesWhereItSaysNothing) {
  const auto target = resolve_target(checked_run(
      {{"address", "example.com"}, {"user", "bob"}, {"port", 2200}, {"identity", "/keys/id"}}));
  ASSERT_EQ(outcome_of(target), "ok");
  EXPECT_EQ(target->user, "bob");
  EXPECT_EQ(target->port, 2200);
  EXPECT_EQ(target->identity, "/keys/id");
}

TEST_F(TargetTest, AnAddressNeedsNoHostsFile) {
  test::write_file(hosts_file_path().value(), "{ broken");
  EXPECT_EQ(outcome_of(resolve_target(checked_run({{"address", "example.com"}}))), "ok");
  EXPECT_EQ(outcome_of(resolve_target(checked_run({{"targets", {"web-1"}}}))), "config/hosts_file");
}

// B114: no host is chosen for the caller.
TEST_F(TargetTest, NoTargetListsTheNames) {
  for (const Json& request : {Json::object(), Json({{"targets", Json::array()}})}) {
    const auto target = resolve_target(checked_run(request));
    ASSERT_EQ(outcome_of(target), "config/no_target");
    const std::string text = target.error().message + " " + target.error().hint;
    EXPECT_THAT(text, HasSubstr("web-1"));
    EXPECT_THAT(text, HasSubstr("db-1"));
  }
}

TEST_F(TargetTest, AnUnknownTargetListsTheNamesAndTheNearest) {
  const auto target = resolve_target(checked_run({{"targets", {"web-2"}}}));
  ASSERT_EQ(outcome_of(target), "config/unknown_target");
  const std::string text = target.error().message + " " + target.error().hint;
  EXPECT_THAT(text, HasSubstr("web-2"));
  EXPECT_THAT(text, HasSubstr("web-1"));
  EXPECT_THAT(text, HasSubstr("db-1"));
}

TEST_F(TargetTest, NamesAreStrict) {
  for (const std::string name : {"WEB-1", "web", "web-1 ", "192.0.2.5", "localhost", "web-*"})
    EXPECT_EQ(outcome_of(resolve_target(checked_run({{"targets", {name}}}))),
              "config/unknown_target")
        << name;
}

TEST_F(TargetTest, ANameAndAnAddressConflict) {
  EXPECT_EQ(
      outcome_of(resolve_target(checked_run({{"targets", {"web-1"}}, {"address", "example.com"}}))),
      "config/request_conflict");
}

// B151
TEST_F(TargetTest, ABadAddressIsRefused) {
  for (const std::string address : {"-oProxyCommand=x", "host name", "host:0", "host:65536",
                                    "host:ssh", "a\nb", "@host", "[::1"})
    EXPECT_EQ(resolve_target(checked_run({{"address", address}})).has_value(), false) << address;
}

TEST_F(TargetTest, ABadUserIsRefused) {
  for (const std::string user : {"-oProxyCommand=x", "a b", "a\nb"}) {
    const auto target = resolve_target(checked_run({{"targets", {"web-1"}}, {"user", user}}));
    EXPECT_EQ(outcome_of(target), "config/user") << user;
  }
}

/// What a request comes to where only the group web may be used.
Result<Target> in_reach(const Json& request) {
  return resolve_target(checked_run(request), inventory::Reach({}, {"web"}));
}

TEST_F(TargetTest, AReachLeavesTheHostsWithinIt) {
  EXPECT_EQ(outcome_of(in_reach({{"targets", {"web-1"}}})), "ok");
  EXPECT_EQ(outcome_of(in_reach({{"targets", {"db-1"}}})), "blocked/target_not_allowed");
  EXPECT_EQ(outcome_of(in_reach({{"targets", {"nobody"}}})), "blocked/target_not_allowed");
  EXPECT_EQ(outcome_of(in_reach({{"address", "192.0.2.5"}})), "blocked/address_not_allowed");
  EXPECT_EQ(outcome_of(in_reach({{"address", "-oProxyCommand=x"}})), "blocked/address_not_allowed");
}

TEST_F(TargetTest, AReachIsOfAccountsAndPlacesNotOfNames) {
  const auto with = [](const char* name, const Json& value) {
    return outcome_of(in_reach({{"targets", {"web-1"}}, {name, value}}));
  };
  EXPECT_EQ(with("user", "alice"), "ok");
  EXPECT_EQ(with("port", 2222), "ok");
  EXPECT_EQ(with("user", "root"), "blocked/override_not_allowed");
  EXPECT_EQ(with("port", 22), "blocked/override_not_allowed");
  const inventory::Reach all({"*"}, {});
  const auto own = resolve_target(
      checked_run({{"targets", {"db-1"}}, {"user", local_user_name()}, {"port", 22}}), all);
  EXPECT_EQ(outcome_of(own), "ok");
}

TEST_F(TargetTest, NoTargetListsTheNamesWithinReach) {
  const auto target = in_reach(Json::object());
  ASSERT_EQ(outcome_of(target), "config/no_target");
  EXPECT_THAT(target.error().hint, HasSubstr("web-1"));
  EXPECT_THAT(target.error().hint, testing::Not(HasSubstr("db-1")));
}

TEST_F(TargetTest, TheDocumentsObjectHasEveryField) {
  const Json json = target_json(test::web_target());
  EXPECT_EQ(json, Json({{"alias", "web-1"},
                        {"address", "192.0.2.5"},
                        {"port", 2222},
                        {"user", "alice"},
                        {"groups", {"web"}},
                        {"tags", {{"env", "prod"}}},
                        {"via", Json::array()}}));
  Target bare;
  bare.address = "192.0.2.5";
  bare.user = "alice";
  EXPECT_TRUE(target_json(bare)["alias"].is_null());
  EXPECT_EQ(target_json(bare)["groups"], Json::array());
  EXPECT_EQ(target_json(bare)["tags"], Json::object());
}

TEST(TargetOfTest, IsTheHostByItsName) {
  inventory::Host host = bare_host("web-1", "192.0.2.5");
  host.user = "alice";
  const Target target = target_of(host);
  EXPECT_EQ(target.alias, "web-1");
  EXPECT_EQ(target.address, "192.0.2.5");
  EXPECT_EQ(target.port, 22);
  EXPECT_EQ(target.user, "alice");
}

}  // namespace
}  // namespace sshx::exec
