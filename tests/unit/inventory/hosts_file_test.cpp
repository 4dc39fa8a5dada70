#include <gmock/gmock.h>
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "inventory/hosts_file.h"
#include "unit/core/scratch_folder.h"

namespace sshx::inventory {
namespace {

using sshx::test::content_of;
using sshx::test::mode_of;
using sshx::test::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kFull = R"({
  "schema_version": "sshx.hosts_file.v1",
  "hosts": {
    "db": {
      "address": "db.example.org",
      "port": 22
    },
    "web-1": {
      "address": "10.0.0.5",
      "port": 2222,
      "user": "alice",
      "identity": "~/.ssh/id",
      "groups": [
        "web",
        "eu"
      ],
      "tags": {
        "env": "prod"
      },
      "description": "first"
    }
  }
}
)";

Host web() {
  Host host;
  host.name = "web-1";
  host.address = "10.0.0.5";
  host.port = 2222;
  host.user = "alice";
  host.identity = "~/.ssh/id";
  host.groups = {"web", "eu"};
  host.tags = {{"env", "prod"}};
  host.description = "first";
  return host;
}

Host plain(std::string name, std::string address) {
  Host host;
  host.name = std::move(name);
  host.address = std::move(address);
  return host;
}

std::string with_host(std::string_view body) {
  return R"({"schema_version":"sshx.hosts_file.v1","hosts":{"web-1":)" + std::string(body) + "}}";
}

Error load_error(std::string_view content) {
  const ScratchFolder folder;
  const auto hosts = load_hosts(folder.write("hosts.json", content));
  return hosts ? Error{} : hosts.error();
}

TEST(LoadHosts, ReadsEveryProperty) {
  const ScratchFolder folder;
  const auto hosts = load_hosts(folder.write("hosts.json", kFull));
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->all().size(), 2U);
  EXPECT_EQ(hosts->all()[0], plain("db", "db.example.org"));
  EXPECT_EQ(hosts->all()[1], web());
}

TEST(LoadHosts, TakesAMissingFileForNoHosts) {
  const ScratchFolder folder;
  EXPECT_TRUE(load_hosts(folder / "hosts.json").value().all().empty());
  EXPECT_TRUE(load_hosts(folder / "no/hosts.json").value().all().empty());
}

TEST(LoadHosts, NamesLineAndColumnOfASyntaxError) {
  const auto error = load_error("{\n  oops\n}");
  EXPECT_EQ(error.kind, ErrorKind::config);
  EXPECT_EQ(error.code, "hosts_file");
  EXPECT_THAT(error.message, HasSubstr("hosts.json: line 2, column 3"));
}

TEST(LoadHosts, NamesThePlaceOfEveryMistake) {
  struct Sample {
    std::string content;
    std::string_view message;
  };

  const Sample samples[] = {
      {"[]", "the document: must be an object, not an array"},
      {"{}", "schema_version: is missing"},
      {R"({"schema_version":"sshx.hosts_file.v2","hosts":{}})", "schema_version: this sshx reads"},
      {R"({"schema_version":"sshx.hosts_file.v1"})", "hosts: is missing"},
      {R"({"schema_version":"sshx.hosts_file.v1","hosts":[]})",
       "hosts: must be an object, not an array"},
      {R"({"schema_version":"sshx.hosts_file.v1","hosts":{},"host":{}})",
       "the document.host: is no known property"},
      {with_host("null"), "hosts.web-1: must be an object, not null"},
      {with_host("{}"), "hosts.web-1.address: is missing"},
      {with_host(R"({"address":1})"), "hosts.web-1.address: must be a string, not a number"},
      {with_host(R"({"address":"a b"})"), "hosts.web-1.address: \"a b\" is not a host name"},
      {with_host(R"({"address":"a","port":"22"})"),
       "hosts.web-1.port: must be a whole number from 1 to 65535, not a string"},
      {with_host(R"({"address":"a","port":0})"), "hosts.web-1.port: must be a whole number"},
      {with_host(R"({"address":"a","port":65536})"), "hosts.web-1.port: must be a whole number"},
      {with_host(R"({"address":"a","port":-22})"), "hosts.web-1.port: must be a whole number"},
      {with_host(R"({"address":"a","port":22.5})"), "hosts.web-1.port: must be a whole number"},
      {with_host(R"({"address":"a","user":null})"), "hosts.web-1.user: must be a string, not null"},
      {with_host(R"({"address":"a","user":"-l"})"), "hosts.web-1.user: \"-l\" is not a user name"},
      {with_host(R"({"address":"a","identity":[]})"), "hosts.web-1.identity: must be a string"},
      {with_host(R"({"address":"a","groups":"web"})"),
       "hosts.web-1.groups: must be an array of strings"},
      {with_host(R"({"address":"a","groups":["web",true]})"),
       "hosts.web-1.groups[1]: must be a string, not a boolean"},
      {with_host(R"({"address":"a","groups":["a b"]})"),
       "hosts.web-1: \"a b\" is not a valid group name"},
      {with_host(R"({"address":"a","tags":["x"]})"),
       "hosts.web-1.tags: must be an object of strings"},
      {with_host(R"({"address":"a","tags":{"env":1}})"),
       "hosts.web-1.tags.env: must be a string, not a number"},
      {with_host(R"({"address":"a","description":"a\nb"})"),
       "hosts.web-1.description: the description is not"},
      {with_host(R"({"address":"a","adress":"b"})"), "hosts.web-1.adress: is no known property"},
      {with_host(R"({"address":"a","address":"b"})"), "duplicate key \"hosts.web-1.address\""},
      {R"({"schema_version":"sshx.hosts_file.v1","hosts":{"-x":{"address":"a"}}})",
       "hosts.-x: \"-x\" is not a valid host name"},
      {R"({"schema_version":"sshx.hosts_file.v1","hosts":{"a":{"address":"a"},"a":{"address":"b"}}})",
       "duplicate key \"hosts.a\""},
  };
  for (const auto& [content, message] : samples) {
    const auto error = load_error(content);
    EXPECT_EQ(error.kind, ErrorKind::config) << content;
    EXPECT_EQ(error.code, "hosts_file") << content;
    EXPECT_THAT(error.message, HasSubstr(message)) << content;
    EXPECT_THAT(error.message, HasSubstr("/hosts.json: ")) << content;
  }
}

TEST(LoadHosts, SuggestsTheNearestProperty) {
  EXPECT_EQ(load_error(with_host(R"({"address":"a","adress":"b"})")).hint,
            "did you mean \"address\"?");
}

TEST(LoadHosts, RefusesAFileThatOthersMayWrite) {
  const ScratchFolder folder;
  const auto file = folder.write("hosts.json", kFull);
  chmod(file.c_str(), 0664);
  const auto hosts = load_hosts(file);
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().code, "unsafe_permissions");
  EXPECT_THAT(hosts.error().hint, StartsWith("chmod go-w "));
}

TEST(LoadHosts, NamesWhatCannotBeRead) {
  const ScratchFolder folder;
  const auto hosts = load_hosts(folder.path());
  EXPECT_EQ(hosts.error().kind, ErrorKind::local_io);
}

TEST(Hosts, RequireListsTheNamesAndSuggestsTheNearest) {
  Hosts hosts;
  hosts.put(plain("web-1", "a"));
  hosts.put(plain("db", "b"));
  EXPECT_EQ(hosts.require("db").value().address, "b");
  const auto missing = hosts.require("wbe-1");
  EXPECT_EQ(missing.error().kind, ErrorKind::config);
  EXPECT_EQ(missing.error().code, "unknown_target");
  EXPECT_EQ(missing.error().hint, "did you mean \"web-1\"? known hosts: db, web-1");
  EXPECT_EQ(hosts.require("mail").error().hint, "known hosts: db, web-1");
  EXPECT_THAT(Hosts().require("x").error().hint, HasSubstr("sshx host add"));
}

TEST(Hosts, RequireDoesNotListThousands) {
  Hosts hosts;
  for (int i = 0; i < 1000; ++i) hosts.put(plain("host-" + std::to_string(i), "a"));
  EXPECT_THAT(hosts.require("x").error().hint, HasSubstr("and 980 more"));
}

TEST(Hosts, StaySortedWithOneHostAName) {
  Hosts hosts({plain("c", "1"), plain("a", "1")});
  hosts.put(plain("b", "1"));
  hosts.put(plain("c", "2"));
  hosts.remove("a");
  hosts.remove("nobody");
  ASSERT_EQ(hosts.all().size(), 2U);
  EXPECT_EQ(hosts.all()[0].name, "b");
  EXPECT_EQ(hosts.find("c")->address, "2");
  EXPECT_EQ(hosts.find("a"), nullptr);
}

TEST(ChangeHosts, WritesThePrivateFileWithItsFolder) {
  const ScratchFolder folder;
  const auto file = folder / "config/sshx/hosts.json";
  ASSERT_TRUE(change_hosts(file, [](Hosts& hosts) {
    hosts.put(web());
    hosts.put(plain("db", "db.example.org"));
    return Status();
  }));
  EXPECT_EQ(content_of(file), kFull);
  EXPECT_EQ(mode_of(file), 0600U);
  EXPECT_EQ(mode_of(file.parent_path()), 0700U);
}

TEST(ChangeHosts, StoresNothingWhenTheChangeFails) {
  const ScratchFolder folder;
  const auto file = folder.write("hosts.json", kFull);
  const auto changed = change_hosts(file, [](Hosts& hosts) -> Status {
    hosts.remove("db");
    return config_error("name", "no");
  });
  EXPECT_EQ(changed.error().code, "name");
  EXPECT_EQ(content_of(file), kFull);
}

TEST(ChangeHosts, LeavesTheFileAloneWhenNothingChanges) {
  const ScratchFolder folder;
  const auto compact = with_host(R"({"address":"a"})");
  const auto file = folder.write("hosts.json", compact);
  ASSERT_TRUE(change_hosts(file, [](Hosts& hosts) {
    hosts.put(plain("web-1", "a"));
    return Status();
  }));
  EXPECT_EQ(content_of(file), compact);
}

TEST(ChangeHosts, NeverReplacesAFileThatItCannotRead) {
  const ScratchFolder folder;
  const auto file = folder.write("hosts.json", "{ broken");
  const auto changed = change_hosts(file, [](Hosts& hosts) {
    hosts.put(web());
    return Status();
  });
  EXPECT_EQ(changed.error().code, "hosts_file");
  EXPECT_EQ(content_of(file), "{ broken");
}

TEST(ChangeHosts, KeepsASymbolicLink) {
  const ScratchFolder folder;
  folder.write("real.json", kFull);
  std::filesystem::create_symlink("real.json", folder / "hosts.json");
  ASSERT_TRUE(change_hosts(folder / "hosts.json", [](Hosts& hosts) {
    hosts.remove("db");
    return Status();
  }));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "hosts.json"));
  EXPECT_THAT(content_of(folder / "real.json"), Not(HasSubstr("db.example.org")));
}

TEST(ChangeHosts, LosesNothingUnderConcurrentWriters) {
  constexpr int kThreads = 8;
  constexpr int kHostsEach = 8;
  const ScratchFolder folder;
  const auto file = folder / "hosts.json";
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kHostsEach; ++n) {
        const auto name = "host-" + std::to_string(i) + "-" + std::to_string(n);
        EXPECT_TRUE(change_hosts(file, [&](Hosts& hosts) {
          hosts.put(plain(name, "a"));
          return Status();
        }));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(load_hosts(file).value().all().size(), static_cast<std::size_t>(kThreads * kHostsEach));
}

TEST(HostJson, ReadsBackWhatItWrites) {
  for (const auto& host : {web(), plain("db", "fe80::1")}) {
    EXPECT_EQ(host_from_json(host.name, host_to_json(host)).value(), host);
  }
}

TEST(HostJson, LeavesEmptyPropertiesOut) {
  EXPECT_EQ(dump_json(host_to_json(plain("db", "a"))), R"({"address":"a","port":22})");
}

}  // namespace
}  // namespace sshx::inventory
