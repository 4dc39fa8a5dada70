#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "core/paths.h"
#include "unit/core/scratch_folder.h"

namespace sshx {
namespace {

using sshx::test::ScratchFolder;

/// Sets or unsets a variable of the environment until the end of its life.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    set(value);
  }

  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  ~Variable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> old_;
};

std::string passwd_home() { return getpwuid(geteuid())->pw_dir; }

class Paths : public ::testing::Test {
 private:
  Variable sshx_home_{"SSHX_HOME", nullptr};
  Variable config_{"XDG_CONFIG_HOME", nullptr};
  Variable state_{"XDG_STATE_HOME", nullptr};
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
  for (const char* const value :
       {static_cast<const char*>(nullptr), "", "relative", "/nonexistent", file.c_str()}) {
    const Variable home("HOME", value);
    EXPECT_EQ(home_directory().value(), passwd_home()) << (value == nullptr ? "unset" : value);
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

}  // namespace
}  // namespace sshx
