#include "core/paths.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace sshx {
namespace {

using std::filesystem::path;

struct Account {
  std::string name;
  path home;
};

struct FileCloser {
  // Of a file that was only read, the close has nothing to tell.
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

/// The entry in /etc/passwd itself. Asked first, since NSS may open sockets, which a dry-run must
/// not.
std::optional<Account> account_in_file(std::vector<char>& buffer) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen("/etc/passwd", "re"));
  passwd entry{};
  passwd* found = nullptr;
  while (file && fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (found->pw_uid == geteuid()) return Account{found->pw_name, found->pw_dir};
  }
  return std::nullopt;
}

/// The passwd entry of the calling user.
std::optional<Account> account() {
  constexpr std::size_t kBufferBytes = 65536;
  std::vector<char> buffer(kBufferBytes);
  if (auto local = account_in_file(buffer)) return local;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0) return std::nullopt;
  if (found == nullptr) return std::nullopt;
  return Account{found->pw_name, found->pw_dir};
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_own_folder(const path& folder) {
  struct stat facts {};

  return stat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

/// Everything in SSHX_HOME where that is set; nothing where it is not.
Result<std::optional<path>> sshx_home() {
  const auto value = variable("SSHX_HOME");
  if (value.empty()) return std::optional<path>();
  if (!path(value).is_absolute()) {
    return config_error("sshx_home",
                        fmt::format("SSHX_HOME is \"{}\", which is not absolute", value),
                        "set it to a path that begins with /");
  }
  return std::optional<path>(value);
}

struct BaseDirectory {
  const char* variable;
  const char* below_home;
};

constexpr BaseDirectory kConfigHome{"XDG_CONFIG_HOME", ".config"};
constexpr BaseDirectory kStateHome{"XDG_STATE_HOME", ".local/state"};
constexpr BaseDirectory kDataHome{"XDG_DATA_HOME", ".local/share"};
constexpr BaseDirectory kCacheHome{"XDG_CACHE_HOME", ".cache"};

Result<path> file_in(const BaseDirectory& base, std::string_view name) {
  SSHX_TRY(const auto home, sshx_home());
  if (home) return *home / name;
  // The XDG base directory specification: a relative value is invalid and to be ignored.
  const path configured = variable(base.variable);
  if (configured.is_absolute()) return configured / "sshx" / name;
  SSHX_TRY(const auto user_home, home_directory());
  return user_home / base.below_home / "sshx" / name;
}

/// Every folder that could be taken for the caller's home.
std::vector<path> possible_homes() {
  std::vector<path> homes{variable("HOME")};
  if (auto entry = account()) homes.push_back(std::move(entry->home));
  std::erase_if(homes, [](const path& home) { return !home.is_absolute(); });
  return homes;
}

}  // namespace

Result<path> home_directory() {
  path home = variable("HOME");
  if (home.is_absolute() && is_own_folder(home)) return home;
  if (auto entry = account(); entry && entry->home.is_absolute()) return std::move(entry->home);
  return config_error(
      "no_home",
      fmt::format("there is no home directory: HOME {}, and the user database has none for you",
                  home.empty()
                      ? "is not set"
                      : fmt::format("is {}, which is not a folder of yours", home.string())),
      "set HOME to a folder that belongs to you, or SSHX_HOME for sshx's own files");
}

std::string local_user_name() {
  if (auto entry = account()) return std::move(entry->name);
  return fmt::format("uid-{}", geteuid());
}

Result<path> expand_home(std::string_view text) {
  if (text != "~" && !text.starts_with("~/")) return path(text);
  SSHX_TRY(auto home, home_directory());
  text.remove_prefix(std::min(text.find_first_not_of('/', 1), text.size()));
  return text.empty() ? home : home / text;
}

Result<path> hosts_file_path() { return file_in(kConfigHome, "hosts.json"); }

Result<path> audit_database_path() { return file_in(kStateHome, "audit.db"); }

Result<path> vault_path() { return file_in(kDataHome, "vault.json"); }

Result<path> user_known_hosts_path() {
  SSHX_TRY(const auto home, home_directory());
  return home / ".ssh" / "known_hosts";
}

path global_known_hosts_path() { return "/etc/ssh/ssh_known_hosts"; }

std::vector<path> protected_folders() {
  std::vector<path> folders{"/etc/ssh"};
  if (const path own = variable("SSHX_HOME"); own.is_absolute()) folders.push_back(own);
  const auto homes = possible_homes();
  for (const auto& home : homes) folders.push_back(home / ".ssh");
  for (const auto& base : {kConfigHome, kStateHome, kDataHome, kCacheHome}) {
    if (const path set = variable(base.variable); set.is_absolute())
      folders.push_back(set / "sshx");
    for (const auto& home : homes) folders.push_back(home / base.below_home / "sshx");
  }
  return folders;
}

}  // namespace sshx
