#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "core/paths.h"
#include "unit/core/scratch_folder.h"
#include "unit/core/variable.h"

namespace sshx {
namespace {

using sshx::test::ScratchFolder;
using sshx::test::Variable;

std::string passwd_home() { return getpwuid(geteuid())->pw_dir; }

class Paths : public ::testing::Test {
 private:
  Variable sshx_home_{"SSHX_HOME", std::nullopt};
  Variable config_{"XDG_CONFIG_HOME", std::nullopt};
  Variable state_{"XDG_STATE_HOME", std::nullopt};
};

// B173: HOME counts if it is set, absolute and ours; else the passwd entry.
TEST_F(Paths, HomeIsTheVariableWhereItIsAFolderOfOurs) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  EXPECT_EQ(home_directory().value(), folder.path());
}

TEST_F(Paths, HomeIsThePasswdEntryOtherwise) {
  const ScratchFolder folder;
  const auto file = folder.write("file", "");
  for (const auto& value : std::vector<std::optional<std::string>>{std::nullopt, "", "relative",
                                                                   "/nonexistent", file.string()}) {
    const Variable home("HOME", value);
    EXPECT_EQ(home_directory().value(), passwd_home()) << value.value_or("unset");
  }
}

TEST_F(Paths, HomeIsNotAnotherUsersFolder) {
  const ScratchFolder folder;
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chown(folder.path().c_str(), 12345, 12345), 0);
  }
  const Variable home("HOME", root ? folder.path().c_str() : "/");
  EXPECT_EQ(home_directory().value(), passwd_home());
}

TEST_F(Paths, LocalUserNameIsThePasswdEntrys) {
  const Variable user("USER", "somebody-else");
  EXPECT_EQ(local_user_name(), getpwuid(geteuid())->pw_name);
}

TEST_F(Paths, ExpandHomeReplacesALeadingTildeOnly) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  EXPECT_EQ(expand_home("~").value(), folder.path());
  EXPECT_EQ(expand_home("~/.ssh/id").value(), folder / ".ssh/id");
  EXPECT_EQ(expand_home("~//.ssh/id").value(), folder / ".ssh/id");
  for (const char* const plain : {"", "/a/~", "a/~/b", "~user/x", "./~"}) {
    EXPECT_EQ(expand_home(plain).value(), plain);
  }
}

TEST_F(Paths, OwnFilesFollowTheBaseDirectorySpecification) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  EXPECT_EQ(hosts_file_path().value(), folder / ".config/sshx/hosts.json");
  EXPECT_EQ(audit_database_path().value(), folder / ".local/state/sshx/audit.db");
  const Variable config("XDG_CONFIG_HOME", "/c");
  const Variable state("XDG_STATE_HOME", "/s");
  EXPECT_EQ(hosts_file_path().value(), "/c/sshx/hosts.json");
  EXPECT_EQ(audit_database_path().value(), "/s/sshx/audit.db");
}

TEST_F(Paths, RelativeBaseDirectoriesAreIgnored) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  const Variable config("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(hosts_file_path().value(), folder / ".config/sshx/hosts.json");
}

TEST_F(Paths, SshxHomeHoldsEverything) {
  const Variable config("XDG_CONFIG_HOME", "/c");
  const Variable own("SSHX_HOME", "/opt/sshx");
  EXPECT_EQ(hosts_file_path().value(), "/opt/sshx/hosts.json");
  EXPECT_EQ(audit_database_path().value(), "/opt/sshx/audit.db");
}

TEST_F(Paths, SshxHomeMustBeAbsolute) {
  const Variable own("SSHX_HOME", "here");
  EXPECT_EQ(hosts_file_path().error().code, "sshx_home");
}

TEST_F(Paths, KnownHostsStayWhereOpenSshKeepsThem) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  const Variable own("SSHX_HOME", "/opt/sshx");
  EXPECT_EQ(user_known_hosts_path().value(), folder / ".ssh/known_hosts");
  EXPECT_EQ(global_known_hosts_path(), "/etc/ssh/ssh_known_hosts");
}

TEST_F(Paths, ProtectedFoldersAreThoseOfEveryHomeAndOfTheEnvironment) {
  const ScratchFolder folder;
  const Variable home("HOME", folder.path().c_str());
  const Variable config("XDG_CONFIG_HOME", "/x/config");
  const Variable relative("XDG_STATE_HOME", "state");
  const Variable own("SSHX_HOME", "/x/own");
  const auto folders = protected_folders();
  for (const std::filesystem::path& expected :
       {std::filesystem::path("/etc/ssh"), std::filesystem::path("/x/own"), folder / ".ssh",
        std::filesystem::path(passwd_home()) / ".ssh", std::filesystem::path("/x/config/sshx"),
        folder / ".config/sshx", folder / ".local/state/sshx", folder / ".local/share/sshx",
        folder / ".cache/sshx"})
    EXPECT_THAT(folders, testing::Contains(expected));
  for (const auto& one : folders) EXPECT_TRUE(one.is_absolute()) << one;
}

}  // namespace
}  // namespace sshx
