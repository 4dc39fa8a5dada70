#include <gmock/gmock.h>

#include "inventory/reach.h"

namespace sshx::inventory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Host host(const std::string& name, std::vector<std::string> groups) {
  Host one;
  one.name = name;
  one.address = "192.0.2.1";
  one.groups = std::move(groups);
  return one;
}

class ReachTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> within(const Reach& reach) const {
    std::vector<std::string> names;
    const auto admitted = reach.within(hosts_);
    for (const auto& one : admitted.all()) names.push_back(one.name);
    return names;
  }

  [[nodiscard]] const Hosts& hosts() const { return hosts_; }

 private:
  Hosts hosts_{{host("web-1", {"web"}), host("web-2", {"web", "prod"}), host("db-1", {"prod"}),
                host("we", {})}};
};

TEST_F(ReachTest, IsEverythingWithoutLists) {
  EXPECT_FALSE(Reach().is_limited());
  EXPECT_THAT(within(Reach()), ElementsAre("db-1", "we", "web-1", "web-2"));
  EXPECT_EQ(Reach().require(hosts(), "nobody").error().code, "unknown_target");
}

TEST_F(ReachTest, ANameIsTheWholeNameUnlessItEndsWithAStar) {
  EXPECT_THAT(within(Reach({"web-1"}, {})), ElementsAre("web-1"));
  EXPECT_THAT(within(Reach({"web"}, {})), IsEmpty());
  EXPECT_THAT(within(Reach({"WEB-1"}, {})), IsEmpty());
  EXPECT_THAT(within(Reach({"web-*"}, {})), ElementsAre("web-1", "web-2"));
  EXPECT_THAT(within(Reach({"web-1*"}, {})), ElementsAre("web-1"));
  EXPECT_THAT(within(Reach({"*"}, {})), ElementsAre("db-1", "we", "web-1", "web-2"));
  EXPECT_TRUE(Reach({"*"}, {}).is_limited());
}

TEST_F(ReachTest, NamesAndGroupsAddUp) {
  EXPECT_THAT(within(Reach({}, {"prod"})), ElementsAre("db-1", "web-2"));
  EXPECT_THAT(within(Reach({}, {"pro"})), IsEmpty());
  EXPECT_THAT(within(Reach({"web-1"}, {"prod"})), ElementsAre("db-1", "web-1", "web-2"));
}

// No oracle: what is forbidden looks as what there is not.
TEST_F(ReachTest, AForbiddenNameLooksAsAnUnknownOne) {
  const Reach reach({"web-*"}, {});
  EXPECT_EQ(reach.require(hosts(), "web-2")->name, "web-2");
  for (const std::string name : {"db-1", "db-9", "web-9", "we"}) {
    const auto refused = reach.require(hosts(), name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::blocked);
    EXPECT_EQ(refused.error().code, "target_not_allowed");
    EXPECT_EQ(refused.error().message, "no host that may be used here is named \"" + name + "\"");
    EXPECT_EQ(refused.error().hint, "use one of: web-1, web-2");
  }
}

TEST_F(ReachTest, AListThatAdmitsNobodySaysSo) {
  const auto refused = Reach({"nobody"}, {}).require(hosts(), "web-1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, Not(HasSubstr("web-1")));
  EXPECT_FALSE(refused.error().hint.empty());
}

}  // namespace
}  // namespace sshx::inventory
