#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "inventory/host.h"

namespace sshx::inventory {
namespace {

TEST(ParseAddress, ReadsEveryForm) {
  struct Sample {
    std::string_view text;
    Address address;
  };

  const Sample samples[] = {
      {"web", {"", "web", 22}},
      {"web.example.org:2222", {"", "web.example.org", 2222}},
      {"alice@web", {"alice", "web", 22}},
      {"alice@10.0.0.5:22", {"alice", "10.0.0.5", 22}},
      {"alice@corp@web", {"alice@corp", "web", 22}},
      {"CORP\\alice@web", {"CORP\\alice", "web", 22}},
      {"fe80::1", {"", "fe80::1", 22}},
      {"::1", {"", "::1", 22}},
      {"fe80::1%eth0", {"", "fe80::1%eth0", 22}},
      {"::ffff:10.0.0.5", {"", "::ffff:10.0.0.5", 22}},
      {"[fe80::1]", {"", "fe80::1", 22}},
      {"[fe80::1]:2222", {"", "fe80::1", 2222}},
      {"root@[::1]:65535", {"root", "::1", 65535}},
      {"my_host", {"", "my_host", 22}},
      {"web.example.org.", {"", "web.example.org.", 22}},
  };
  for (const auto& [text, address] : samples) {
    const auto parsed = parse_address(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, address) << text;
  }
}

TEST(ParseAddress, RefusesEverythingElse) {
  const std::string too_long(254, 'a');
  for (const std::string_view text : {std::string_view(""),
                                      std::string_view("-oProxyCommand=x"),
                                      std::string_view("@web"),
                                      std::string_view("-x@web"),
                                      std::string_view("a b"),
                                      std::string_view("web\n"),
                                      std::string_view("w\0b", 3),
                                      std::string_view("web:"),
                                      std::string_view("web:0"),
                                      std::string_view("web:65536"),
                                      std::string_view("web:22x"),
                                      std::string_view("web:-1"),
                                      std::string_view("web:+22"),
                                      std::string_view(":22"),
                                      std::string_view("[web]:22"),
                                      std::string_view("[::1"),
                                      std::string_view("[::1]x"),
                                      std::string_view("[::1]:"),
                                      std::string_view("1::2::3"),
                                      std::string_view("a:b:c"),
                                      std::string_view("web/x"),
                                      std::string_view("w*b"),
                                      std::string_view("w\xC3\xA9"
                                                       "b"),
                                      std::string_view("$(id)@web"),
                                      std::string_view("a;b@web"),
                                      std::string_view(".web"),
                                      std::string_view("::1%"),
                                      std::string_view(too_long)}) {
    const auto parsed = parse_address(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::config) << text;
    EXPECT_NE(parsed.error().hint, "") << text;
  }
}

// B161: what looks like user information of a URL may hold a password.
TEST(ParseAddress, DoesNotRepeatAPassword) {
  for (const std::string_view text : {"alice:canary@web", "https://alice:canary@web/"}) {
    const auto parsed = parse_address(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message.find("canary"), std::string::npos) << parsed.error().message;
  }
}

TEST(ParsePort, TakesWholeNumbersInRange) {
  EXPECT_EQ(parse_port("1").value(), 1);
  EXPECT_EQ(parse_port("65535").value(), 65535);
  for (const std::string_view text :
       {"", "0", "65536", "99999999999", "-1", "+1", " 1", "1 ", "0x16", "22.0"}) {
    EXPECT_EQ(parse_port(text).error().code, "port") << text;
  }
}

TEST(CheckName, TakesNamesThatNeverNeedQuoting) {
  for (const std::string& name : {std::string("web-1"), std::string("a"), std::string("_x"),
                                  std::string("10.0.0.5"), std::string(128, 'a')}) {
    EXPECT_TRUE(check_name(name, "host")) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string(".a"), std::string("a b"), std::string("a/b"),
        std::string("a,b"), std::string("a*"), std::string("a\n"), std::string("\xC3\xA9"),
        std::string(129, 'a')}) {
    const auto checked = check_name(name, "group");
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, "name");
    EXPECT_NE(checked.error().message.find("group"), std::string::npos);
  }
}

Host good_host() {
  Host host;
  host.name = "web-1";
  host.address = "10.0.0.5";
  host.user = "alice";
  host.identity = "~/.ssh/id";
  host.groups = {"web"};
  host.tags = {{"env", "prod"}};
  host.description = "first web server";
  return host;
}

TEST(CheckHost, PassesAGoodHostAndTheLeastOne) {
  EXPECT_TRUE(check_host(good_host()));
  Host least;
  least.name = "a";
  least.address = "a";
  EXPECT_TRUE(check_host(least));
}

TEST(CheckHost, SaysWhichRuleIsBroken) {
  struct Sample {
    std::string_view code;
    void (*spoil)(Host&);
  };

  constexpr Sample kSamples[] = {
      {"name", [](Host& host) { host.name = "-x"; }},
      {"address", [](Host& host) { host.address = "-x"; }},
      {"address", [](Host& host) { host.address.clear(); }},
      {"address", [](Host& host) { host.address = "web:22"; }},
      {"port", [](Host& host) { host.port = 0; }},
      {"user", [](Host& host) { host.user = "-l"; }},
      {"user", [](Host& host) { host.user = "a b"; }},
      {"identity", [](Host& host) { host.identity = "-i"; }},
      {"identity", [](Host& host) { host.identity = "a\nb"; }},
      {"identity", [](Host& host) { host.identity = "\xFF"; }},
      {"name", [](Host& host) { host.groups.emplace_back("a b"); }},
      {"name", [](Host& host) { host.tags["a b"] = "x"; }},
      {"tag", [](Host& host) { host.tags["a"] = "\x1b"; }},
      {"description", [](Host& host) { host.description = "a\nb"; }},
      {"description", [](Host& host) { host.description = std::string(2000, 'x'); }},
  };
  for (const auto& [code, spoil] : kSamples) {
    auto host = good_host();
    spoil(host);
    const auto checked = check_host(host);
    ASSERT_FALSE(checked) << code;
    EXPECT_EQ(checked.error().kind, ErrorKind::config);
    EXPECT_EQ(checked.error().code, code);
  }
}

}  // namespace
}  // namespace sshx::inventory
