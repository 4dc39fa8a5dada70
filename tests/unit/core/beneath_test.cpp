#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "core/beneath.h"
#include "unit/core/scratch_folder.h"
#include "unit/core/variable.h"

namespace sshx {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kLimit = 1000;
constexpr std::string_view kKey = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n";

class BeneathTest : public testing::Test {
 protected:
  BeneathTest() {
    for (const auto* folder : {"root", "root/sub", "home", "home/.ssh", "sshx", "outside"})
      std::filesystem::create_directories(scratch_ / folder);
    scratch_.write("outside/secret", "outside");
    scratch_.write("root/a", "a");
    scratch_.write("root/sub/b", "b");
    scratch_.write("home/.ssh/config", "Host *\n");
    scratch_.write("sshx/hosts.json", "{}");
  }

  [[nodiscard]] std::filesystem::path at(std::string_view name) const { return scratch_ / name; }

  void write(std::string_view name, std::string_view text) const { scratch_.write(name, text); }

  void link(const std::filesystem::path& to, std::string_view name) const {
    std::filesystem::create_symlink(to, at(name));
  }

  /// The content, or "kind/code".
  [[nodiscard]] std::string read(const std::filesystem::path& name) const {
    return read_from(at("root"), name);
  }

  [[nodiscard]] static std::string read_from(const std::filesystem::path& root,
                                             const std::filesystem::path& name) {
    const auto content = read_beneath(root, name, kLimit);
    if (content) return *content;
    EXPECT_THAT(content.error().message, Not(HasSubstr("AAAA")));
    return std::string(to_string(content.error().kind)) + "/" + content.error().code;
  }

 private:
  test::ScratchFolder scratch_;
  test::Variable home_{"HOME", at("home").c_str()};
  test::Variable sshx_home_{"SSHX_HOME", at("sshx").c_str()};
};

TEST_F(BeneathTest, NamesAreRelativeToTheRootOrBeginWithIt) {
  EXPECT_EQ(read("a"), "a");
  EXPECT_EQ(read("sub/b"), "b");
  EXPECT_EQ(read("sub/../a"), "a");
  EXPECT_EQ(read(at("root/a")), "a");
  EXPECT_EQ(read(at("root") / "sub" / ".." / "a"), "a");
  EXPECT_EQ(read_from(at("root/"), at("root/a")), "a");
  link("root", "door");
  EXPECT_EQ(read_from(at("door"), at("door/a")), "a");
  EXPECT_EQ(read_from(at("door"), at("root/a")), "a");
}

TEST_F(BeneathTest, NothingLeadsOut) {
  link("../outside/secret", "root/up");
  link(at("outside/secret"), "root/away");
  link(at("root/a"), "root/absolute");
  link("../outside", "root/folder");
  link("/proc/self/root", "root/magic");
  constexpr auto kOutside = "blocked/outside_local_root";
  EXPECT_EQ(read("../outside/secret"), kOutside);
  EXPECT_EQ(read("../outside/missing"), kOutside);
  EXPECT_EQ(read("sub/../../root/a"), kOutside);
  EXPECT_EQ(read(at("outside/secret")), kOutside);
  EXPECT_EQ(read(at("outside/missing")), kOutside);
  EXPECT_EQ(read(at("root/../outside/secret")), kOutside);
  EXPECT_EQ(read(at("rooted/a")), kOutside);
  EXPECT_EQ(read("/etc/passwd"), kOutside);
  EXPECT_EQ(read("up"), kOutside);
  EXPECT_EQ(read("away"), kOutside);
  EXPECT_EQ(read("folder/secret"), kOutside);
  EXPECT_EQ(read("magic/etc/passwd"), kOutside);
  // The kernel cannot tell that this one would come back.
  EXPECT_EQ(read("absolute"), kOutside);
}

TEST_F(BeneathTest, LinksWithinAreFollowed) {
  link("sub/b", "root/inner");
  link("../a", "root/sub/back");
  EXPECT_EQ(read("inner"), "b");
  EXPECT_EQ(read("sub/back"), "a");
  link("circle", "root/circle");
  EXPECT_EQ(read("circle"), "blocked/outside_local_root");
}

TEST_F(BeneathTest, OnlyRegularFilesAreReadAndNoneBlocks) {
  ASSERT_EQ(mkfifo(at("root/fifo").c_str(), 0600), 0);
  EXPECT_EQ(read("fifo"), "local_io/not_a_file");
  EXPECT_EQ(read("sub"), "local_io/not_a_file");
  EXPECT_EQ(read("."), "local_io/not_a_file");
  EXPECT_EQ(read(at("root")), "local_io/not_a_file");
  EXPECT_EQ(read("missing"), "local_io/not_found");
  EXPECT_EQ(read("a/b"), "local_io/io");
  EXPECT_EQ(read_from(at("missing"), "a"), "local_io/not_found");
  write("root/large", std::string(kLimit + 1, 'x'));
  EXPECT_EQ(read("large"), "local_io/too_large");
  EXPECT_EQ(read_from("/", "dev/null"), "local_io/not_a_file");
}

TEST_F(BeneathTest, KeysTrustAndOwnFilesAreProtectedWithin) {
  constexpr auto kProtected = "blocked/protected_file";
  for (const auto* name : {"home/.ssh/config", "sshx/hosts.json", "home/../sshx/hosts.json"})
    EXPECT_EQ(read_from(at("."), name), kProtected) << name;
  EXPECT_EQ(read_from(at("sshx"), "hosts.json"), kProtected);
  link("../home/.ssh/config", "outside/innocent");
  EXPECT_EQ(read_from(at("."), "outside/innocent"), kProtected);
  EXPECT_EQ(read_from("/", "etc/ssh/ssh_config"), kProtected);
  // A folder that only begins like one of them is not.
  std::filesystem::create_directories(at("sshx-too"));
  write("sshx-too/a", "free");
  EXPECT_EQ(read_from(at("."), "sshx-too/a"), "free");
}

TEST_F(BeneathTest, AProtectedFolderIsWhereItsLinkLeads) {
  std::filesystem::rename(at("home/.ssh"), at("outside/keys"));
  link(at("outside/keys"), "home/.ssh");
  EXPECT_EQ(read_from(at("outside"), "keys/config"), "blocked/protected_file");
}

TEST_F(BeneathTest, APrivateKeyIsProtectedWhateverItIsCalled) {
  write("home/.ssh/id_work", kKey);
  std::filesystem::create_hard_link(at("home/.ssh/id_work"), at("root/notes.txt"));
  EXPECT_EQ(read("notes.txt"), "blocked/protected_file");
  write("root/script", "echo\n" + std::string(kKey));
  EXPECT_EQ(read("script"), "blocked/protected_file");
}

TEST(HoldsPrivateKeyTest, LooksAtTheBeginningsOfLines) {
  for (const std::string text :
       {"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\r\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "x\n-----BEGIN EC PRIVATE KEY-----",
        "x\r-----BEGIN OPENSSH PRIVATE KEY-----\r"}) {
    EXPECT_TRUE(holds_private_key(text)) << text;
  }
  for (const std::string text :
       {"", "-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\nPRIVATE KEY-----\n",
        "grep -- '-----BEGIN RSA PRIVATE KEY-----' file", "-----BEGIN ", "-----BEGIN \n"}) {
    EXPECT_FALSE(holds_private_key(text)) << text;
  }
}

TEST(HoldsPrivateKeyTest, LooksAtTheFirst64KiB) {
  const std::string key = "\n-----BEGIN PRIVATE KEY-----\n";
  EXPECT_TRUE(holds_private_key(std::string(65536 - key.size(), 'x') + key));
  EXPECT_FALSE(holds_private_key(std::string(65536, 'x') + key));
}

}  // namespace
}  // namespace sshx
