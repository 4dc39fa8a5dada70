#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/hosts_document.h"

namespace sshx::cli {
namespace {

HostsAnswer sample() {
  inventory::Host host;
  host.name = "web-1";
  host.address = "10.0.0.5";
  host.tags = {{"env", "prod"}};
  return {.operation = "host.list",
          .path = "/x/hosts.json",
          .hosts = {HostEntry{.host = host}},
          .warnings = {},
          .error = std::nullopt};
}

TEST(HostsDocument, HasEveryFieldAndNullForWhatIsNotSet) {
  EXPECT_EQ(
      dump_json(hosts_document(sample())),
      R"({"schema_version":"sshx.hosts.v1","operation":"host.list","success":true,"count":1,"hosts":[)"
      R"({"name":"web-1","address":"10.0.0.5","port":22,"user":null,"identity":null,"groups":[],)"
      R"("tags":{"env":"prod"},"description":null,"keys":null,"test":null}],"path":"/x/hosts.json",)"
      R"("warnings":[],"error":null,"error_kind":null})");
}

TEST(HostsDocument, FailsWithItsError) {
  auto answer = sample();
  answer.error = Error{ErrorKind::host_key, "changed", "message", "hint"};
  const auto document = hosts_document(answer);
  EXPECT_EQ(document["success"], false);
  EXPECT_EQ(document["error_kind"], "host_key");
  EXPECT_EQ(document["error"]["code"], "changed");
}

TEST(HostsTable, ShowsDashesForWhatIsNotSet) {
  EXPECT_EQ(hosts_table(sample()), "NAME   ADDRESS   PORT  USER  GROUPS  TAGS      DESCRIPTION\n"
                                   "web-1  10.0.0.5  22    -     -       env=prod  -\n");
}

TEST(HostsTable, IsEmptyWithoutHosts) {
  auto answer = sample();
  answer.hosts.clear();
  EXPECT_EQ(hosts_table(answer), "");
}

TEST(HostSheet, ListsKeysOrSaysThatThereAreNone) {
  auto entry = sample().hosts.front();
  entry.keys = Json::array();
  EXPECT_THAT(host_sheet(entry), testing::HasSubstr("sshx host trust web-1"));
  entry.keys.push_back(key_json("ssh-ed25519", "SHA256:abc", "ok"));
  EXPECT_THAT(host_sheet(entry), testing::HasSubstr("ssh-ed25519 SHA256:abc ok"));
}

}  // namespace
}  // namespace sshx::cli
