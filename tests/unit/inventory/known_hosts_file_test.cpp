#include <gmock/gmock.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "inventory/known_hosts.h"
#include "unit/core/scratch_folder.h"
#include "unit/inventory/sample_keys.h"

namespace sshx::inventory {
namespace {

using sshx::test::content_of;
using sshx::test::mode_of;
using sshx::test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Files = std::vector<std::filesystem::path>;

TEST(KnownHostsLoad, ReadsAllFilesAsOneList) {
  const ScratchFolder folder;
  const Files files{folder.write("user", with_keys("web {E}\n")),
                    folder.write("global", with_keys("@revoked * {E}\ndb {F}\n"))};
  const auto hosts = KnownHosts::load(files).value();
  EXPECT_EQ(hosts.verdict("web", 22, sample_key("{E}")), HostKeyVerdict::revoked);
  EXPECT_EQ(hosts.verdict("db", 22, sample_key("{F}")), HostKeyVerdict::ok);
}

TEST(KnownHostsLoad, TakesMissingFilesForEmpty) {
  const ScratchFolder folder;
  const auto hosts = KnownHosts::load(Files{folder / "x", folder / "no/x", "/dev/null"}).value();
  EXPECT_EQ(hosts.verdict("web", 22, sample_key("{E}")), HostKeyVerdict::unknown);
  EXPECT_THAT(hosts.warnings(), IsEmpty());
}

TEST(KnownHostsLoad, RefusesWhatItCannotRead) {
  const ScratchFolder folder;
  const auto hosts = KnownHosts::load(Files{folder.path()});
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().kind, ErrorKind::config);
  EXPECT_EQ(hosts.error().code, "known_hosts");
  EXPECT_THAT(hosts.error().message, HasSubstr(folder.path().string()));
}

TEST(KnownHostsLoad, RefusesAFileThatOthersMayWrite) {
  const ScratchFolder folder;
  const auto file = folder.write("known_hosts", with_keys("web {E}\n"));
  chmod(file.c_str(), 0620);
  const auto hosts = KnownHosts::load(Files{file});
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().kind, ErrorKind::config);
  EXPECT_EQ(hosts.error().code, "unsafe_permissions");
  EXPECT_THAT(hosts.error().hint, StartsWith("chmod go-w "));
}

// B065: a bad line costs itself only.
TEST(KnownHostsLoad, SkipsLinesItCannotReadWithTheirPlaceAndReason) {
  const ScratchFolder folder;
  const auto file =
      folder.write("known_hosts", with_keys("# comment\nweb ssh-foo AAAA\n\nweb\n@x web {E}\n"));
  const auto hosts = KnownHosts::load(Files{file}).value();
  const auto place = file.string();
  EXPECT_THAT(hosts.warnings(), ElementsAre(place + ":2: skipped: unknown key type \"ssh-foo\"",
                                            place + ":4: skipped: no key after the host name",
                                            place + ":5: skipped: unknown marker \"@x\""));
}

TEST(KnownHostsLoad, SumsUpTheWarningsOfABrokenFile) {
  const ScratchFolder folder;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += "garbage\n";
  const auto hosts = KnownHosts::load(Files{folder.write("x", content)}).value();
  ASSERT_EQ(hosts.warnings().size(), 11U);
  EXPECT_THAT(hosts.warnings().back(), HasSubstr("skipped 990 more lines"));
}

std::string digest_of(const std::vector<std::string>& contents) {
  const ScratchFolder folder;
  Files files;
  for (const auto& content : contents) {
    files.push_back(folder.write("file-" + std::to_string(files.size()), with_keys(content)));
  }
  return KnownHosts::load(files).value().digest();
}

TEST(KnownHostsDigest, DependsOnTheRecordsOnly) {
  const auto digest = digest_of({"a {E}\nb {F}\n"});
  EXPECT_THAT(digest, StartsWith("sha256:"));
  EXPECT_EQ(digest_of({"b {F}\r\n\n# comment\n a {E}"}), digest);
  EXPECT_EQ(digest_of({"b {F}\n", "a {E}\n"}), digest);
  EXPECT_NE(digest_of({"a {E}\n"}), digest);
  EXPECT_NE(digest_of({"a {E}\nb {F}\nb {F}\n"}), digest);
  EXPECT_NE(digest_of({"a {F}\nb {E}\n"}), digest);
  EXPECT_NE(digest_of({"a {E}\nb {F}\nunreadable\n"}), digest);
}

TEST(AppendKnownHost, MakesAPrivateFileInAPrivateFolder) {
  const ScratchFolder folder;
  const auto file = folder / ".ssh/known_hosts";
  const std::vector keys{sample_key("{E}"), sample_key("{C}")};
  ASSERT_TRUE(append_known_host(file, "Web.Example", 22, keys));
  EXPECT_EQ(content_of(file), with_keys("web.example {E}\nweb.example {C}\n"));
  EXPECT_EQ(mode_of(file), 0600U);
  EXPECT_EQ(mode_of(file.parent_path()), 0700U);
  EXPECT_EQ(KnownHosts::load(Files{file}).value().verdict("web.example", 22, keys[1]),
            HostKeyVerdict::ok);
}

TEST(AppendKnownHost, WritesThePortWhereItIsNot22) {
  const ScratchFolder folder;
  const auto file = folder / "known_hosts";
  const std::vector keys{sample_key("{E}")};
  ASSERT_TRUE(append_known_host(file, "web", 2222, keys));
  ASSERT_TRUE(append_known_host(file, "fe80::1", 22, keys));
  ASSERT_TRUE(append_known_host(file, "fe80::1%eth0", 2222, keys));
  EXPECT_EQ(content_of(file), with_keys("[web]:2222 {E}\nfe80::1 {E}\n[fe80::1%eth0]:2222 {E}\n"));
}

TEST(AppendKnownHost, LeavesWhatIsThereAsItIs) {
  const ScratchFolder folder;
  const std::string old = "# mine\r\n\ngarbage\n@revoked x y\nlast line without an end";
  const auto file = folder.write("known_hosts", old);
  ASSERT_TRUE(append_known_host(file, "web", 22, std::vector{sample_key("{E}")}));
  EXPECT_EQ(content_of(file), old + with_keys("\nweb {E}\n"));
}

TEST(AppendKnownHost, AddsNothingTwice) {
  const ScratchFolder folder;
  const auto content = with_keys("web,db {E}\n");
  const auto file = folder.write("known_hosts", content);
  ASSERT_TRUE(append_known_host(file, "web", 22, std::vector{sample_key("{E}")}));
  EXPECT_EQ(content_of(file), content);
  ASSERT_TRUE(append_known_host(file, "web", 2222, std::vector{sample_key("{E}")}));
  EXPECT_EQ(content_of(file), content + with_keys("[web]:2222 {E}\n"));
}

TEST(AppendKnownHost, FollowsASymbolicLink) {
  const ScratchFolder folder;
  folder.write("real", "");
  std::filesystem::create_symlink("real", folder / "known_hosts");
  ASSERT_TRUE(append_known_host(folder / "known_hosts", "web", 22, std::vector{sample_key("{E}")}));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "known_hosts"));
  EXPECT_EQ(content_of(folder / "real"), with_keys("web {E}\n"));
}

TEST(AppendKnownHost, RefusesNamesThatWouldMatchMore) {
  const ScratchFolder folder;
  for (const std::string_view host : {"", "*", "w?b", "!web", "web,db", "web x", "web\nx", "|1|x",
                                      "#web", "@revoked", "[web]:22"}) {
    const auto added =
        append_known_host(folder / "known_hosts", host, 22, std::vector{sample_key("{E}")});
    ASSERT_FALSE(added) << host;
    EXPECT_EQ(added.error().code, "address") << host;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "known_hosts"));
}

TEST(AppendKnownHost, RefusesAFileThatOthersMayWrite) {
  const ScratchFolder folder;
  const auto file = folder.write("known_hosts", "");
  chmod(file.c_str(), 0622);
  EXPECT_EQ(append_known_host(file, "web", 22, std::vector{sample_key("{E}")}).error().code,
            "unsafe_permissions");
}

// B201: many writers at once.
TEST(AppendKnownHost, TearsNoLineUnderConcurrentWriters) {
  constexpr int kWriters = 50;
  const ScratchFolder folder;
  const auto file = folder / "known_hosts";
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(
          append_known_host(file, "host-" + std::to_string(i), 22, std::vector{sample_key("{E}")}));
    });
  }
  for (auto& thread : threads) thread.join();
  const auto hosts = KnownHosts::load(Files{file}).value();
  EXPECT_THAT(hosts.warnings(), IsEmpty());
  for (int i = 0; i < kWriters; ++i) {
    EXPECT_EQ(hosts.stored_keys("host-" + std::to_string(i), 22).size(), 1U) << i;
  }
}

TEST(HostKeyVerdictNames, AreThoseOfTheContract) {
  EXPECT_EQ(to_string(HostKeyVerdict::ok), "ok");
  EXPECT_EQ(to_string(HostKeyVerdict::unknown), "unknown");
  EXPECT_EQ(to_string(HostKeyVerdict::changed), "changed");
  EXPECT_EQ(to_string(HostKeyVerdict::revoked), "revoked");
  EXPECT_EQ(to_string(HostKeyVerdict::other_type), "other_type");
}

}  // namespace
}  // namespace sshx::inventory
