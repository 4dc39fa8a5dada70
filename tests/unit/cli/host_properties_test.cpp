#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/host_properties.h"

namespace sshx::cli {
namespace {

using inventory::Host;

Host made(const std::string& request) {
  const auto host = new_host(Json::parse(request));
  EXPECT_TRUE(host) << (host ? "" : host.error().message);
  return host ? *host : Host{};
}

Host changed(const Host& before, const std::string& request) {
  const auto host = updated_host(before, Json::parse(request));
  EXPECT_TRUE(host) << (host ? "" : host.error().message);
  return host ? *host : Host{};
}

TEST(NewHost, TakesUserAndPortFromTheAddress) {
  const auto host = made(R"({"name":"a","address":"bob@[::1]:2222"})");
  EXPECT_EQ(host.address, "::1");
  EXPECT_EQ(host.port, 2222);
  EXPECT_EQ(host.user, "bob");
}

TEST(NewHost, LetsExplicitPropertiesWin) {
  const auto host = made(R"({"name":"a","address":"bob@h:2222","port":23,"user":"eve"})");
  EXPECT_EQ(host.port, 23);
  EXPECT_EQ(host.user, "eve");
}

TEST(NewHost, ReadsTagsAndGroups) {
  const auto host = made(
      R"({"name":"a","address":"h","groups":["web","db","web"],"tags":["env=prod","url=a=b"]})");
  EXPECT_EQ(host.groups, (std::vector<std::string>{"web", "db"}));
  EXPECT_EQ(host.tags.at("env"), "prod");
  EXPECT_EQ(host.tags.at("url"), "a=b");
}

TEST(NewHost, MakesARelativeIdentityLasting) {
  const auto identity_of = [](const std::string& path) {
    return made(R"({"name":"a","address":"h","identity":")" + path + "\"}").identity;
  };
  EXPECT_EQ(identity_of("keys/../id"), (std::filesystem::current_path() / "id").string());
  EXPECT_EQ(identity_of("~/.ssh/id"), "~/.ssh/id");
  EXPECT_EQ(identity_of("/k/id"), "/k/id");
}

TEST(NewHost, RefusesWhatNoHostMayHave) {
  const auto code = [](const std::string& request) {
    const auto host = new_host(Json::parse(request));
    return host ? std::string("(accepted)") : host.error().code;
  };
  EXPECT_EQ(code(R"({"name":"-a","address":"h"})"), "name");
  EXPECT_EQ(code(R"({"name":"a","address":"-oProxyCommand=x"})"), "address");
  EXPECT_EQ(code(R"({"name":"a","address":"h","identity":"-x"})"), "identity");
  EXPECT_EQ(code(R"({"name":"a","address":"h","tags":["k=1","k=2"]})"), "request_conflict");
}

class UpdatedHost : public testing::Test {
 protected:
  Host before_ =
      made(R"({"name":"a","address":"bob@h:2222","identity":"/k","groups":["web"],"tags":["k=v"],
                          "description":"text"})");
};

TEST_F(UpdatedHost, ChangesWhatIsGivenOnly) {
  auto expected = before_;
  expected.description = "other";
  EXPECT_EQ(changed(before_, R"({"name":"a","description":"other"})"), expected);
}

TEST_F(UpdatedHost, KeepsThePortUnlessTheNewAddressSaysOne) {
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"g"})").port, 2222);
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"g"})").user, "bob");
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"::1"})").port, 2222);
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"[::1]"})").port, 2222);
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"g:22"})").port, 22);
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"eve@[::1]:22"})").port, 22);
  EXPECT_EQ(changed(before_, R"({"name":"a","address":"eve@g"})").user, "eve");
}

TEST_F(UpdatedHost, ReplacesWholeLists) {
  EXPECT_EQ(changed(before_, R"({"name":"a","groups":["db"]})").groups,
            (std::vector<std::string>{"db"}));
  EXPECT_EQ(changed(before_, R"({"name":"a","tags":["l=w"]})").tags.count("k"), 0U);
}

TEST_F(UpdatedHost, ClearsWhatIsUnset) {
  Host bare;
  bare.name = "a";
  bare.address = "h";
  EXPECT_EQ(
      changed(before_,
              R"({"name":"a","unset":["port","user","identity","groups","tags","description"]})"),
      bare);
}

TEST_F(UpdatedHost, RefusesToSetAndUnsetAtOnce) {
  const auto host =
      updated_host(before_, Json::parse(R"({"name":"a","port":23,"unset":["port"]})"));
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, "request_conflict");
}

}  // namespace
}  // namespace sshx::cli
