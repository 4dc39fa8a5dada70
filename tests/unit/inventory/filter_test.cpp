#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "inventory/filter.h"

namespace sshx::inventory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Host host(std::string name, std::vector<std::string> groups,
          std::map<std::string, std::string> tags = {}) {
  Host host;
  host.name = std::move(name);
  host.address = "192.0.2.1";
  host.groups = std::move(groups);
  host.tags = std::move(tags);
  return host;
}

Hosts fleet() {
  return Hosts({host("db-1", {"db", "prod"}, {{"env", "prod"}, {"rack", "a"}}),
                host("web-1", {"web", "prod"}, {{"env", "prod"}, {"rack", "b=c"}}),
                host("web-2", {"web"}, {{"env", "test"}}), host("lone", {})});
}

std::vector<std::string> matched(const Json& request) {
  const auto filter = filter_of(request);
  const auto hosts = fleet();
  std::vector<std::string> names;
  for (const auto& one : hosts.all()) {
    if (filter.matches(one)) names.push_back(one.name);
  }
  return names;
}

std::string told(const Json& request, const Hosts& hosts = fleet()) {
  const auto status = filter_of(request).check_known(hosts);
  if (status) return "ok";
  const auto& error = status.error();
  return std::string(to_string(error.kind)) + "/" + error.code + ": " + error.message + "; " +
         error.hint;
}

TEST(FilterTest, AsksForNothingWhereNothingIsGiven) {
  EXPECT_THAT(matched(Json::object()), ElementsAre("db-1", "lone", "web-1", "web-2"));
  EXPECT_THAT(matched({{"groups", Json::array()}, {"tags", Json::array()}}),
              ElementsAre("db-1", "lone", "web-1", "web-2"));
}

TEST(FilterTest, GroupsAreAlternativesAndTagsMustAllMatch) {
  EXPECT_THAT(matched({{"groups", {"web"}}}), ElementsAre("web-1", "web-2"));
  EXPECT_THAT(matched({{"groups", {"web", "db"}}}), ElementsAre("db-1", "web-1", "web-2"));
  EXPECT_THAT(matched({{"tags", {"env=prod"}}}), ElementsAre("db-1", "web-1"));
  EXPECT_THAT(matched({{"tags", {"env=prod", "rack=a"}}}), ElementsAre("db-1"));
  EXPECT_THAT(matched({{"groups", {"web"}}, {"tags", {"env=prod"}}}), ElementsAre("web-1"));
  EXPECT_THAT(matched({{"groups", {"db"}}, {"tags", {"env=test"}}}), IsEmpty());
}

TEST(FilterTest, ATagIsItsKeyAndAllThatFollowsTheFirstEqualsSign) {
  EXPECT_THAT(matched({{"tags", {"rack=b=c"}}}), ElementsAre("web-1"));
  EXPECT_THAT(matched({{"tags", {"rack=b"}}}), IsEmpty());
  EXPECT_THAT(matched({{"tags", {"env=pro"}}}), IsEmpty());
}

TEST(FilterTest, AGroupThatNoHostIsInIsToldWithThoseThereAre) {
  EXPECT_EQ(told({{"groups", {"web", "db"}}}), "ok");
  const auto text = told({{"groups", {"web", "prd"}}});
  EXPECT_THAT(text, HasSubstr("config/unknown_group: no host is in group \"prd\""));
  EXPECT_THAT(text, HasSubstr("did you mean prod?"));
  EXPECT_THAT(text, HasSubstr("known groups: db, prod, web"));
}

TEST(FilterTest, ATagThatNoHostHasIsToldWithThoseThereAre) {
  EXPECT_EQ(told({{"tags", {"env=prod", "rack=b=c"}}}), "ok");
  // Each is there, though no host has both.
  EXPECT_EQ(told({{"tags", {"env=test", "rack=a"}}}), "ok");
  const auto text = told({{"tags", {"env=staging"}}});
  EXPECT_THAT(text, HasSubstr("config/unknown_tag: no host has tag \"env=staging\""));
  EXPECT_THAT(text, HasSubstr("known tags: env=prod, env=test, rack=a, rack=b=c"));
}

TEST(FilterTest, SaysSoWhereThereIsNoneAtAll) {
  EXPECT_THAT(told({{"groups", {"web"}}}, Hosts()), HasSubstr("no host has a group"));
  EXPECT_THAT(told({{"tags", {"a=b"}}}, Hosts({host("lone", {})})), HasSubstr("no host has a tag"));
}

TEST(FilterTest, NamesAFewOfMany) {
  std::vector<Host> hosts;
  for (int i = 100; i < 150; ++i) hosts.push_back(host("h", {"group-" + std::to_string(i)}));
  const auto text = told({{"groups", {"nothing-like-it"}}}, Hosts(hosts));
  EXPECT_THAT(text, HasSubstr("group-119 and 30 more"));
  EXPECT_THAT(text, Not(HasSubstr("group-120")));
}

TEST(FilterTest, TellsSafelyOfBytesThatCouldDriveATerminal) {
  EXPECT_THAT(told({{"groups", {"\x1b[2J"}}}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sshx::inventory
