#include "core/secret_options.h"

#include <algorithm>
#include <array>

namespace sshx {
namespace {

constexpr std::array<SecretOption, 32> kSecretOptions{{
    {"mysql", "-p", Place::attached, Part::all},
    {"mysqldump", "-p", Place::attached, Part::all},
    {"mysqladmin", "-p", Place::attached, Part::all},
    {"mysqlimport", "-p", Place::attached, Part::all},
    {"mariadb", "-p", Place::attached, Part::all},
    {"mariadb-dump", "-p", Place::attached, Part::all},
    {"mariadb-admin", "-p", Place::attached, Part::all},
    {"7z", "-p", Place::attached, Part::all},
    {"7za", "-p", Place::attached, Part::all},
    {"rar", "-p", Place::attached, Part::all},
    {"unrar", "-p", Place::attached, Part::all},
    {"sshpass", "-p", Place::either, Part::all},
    {"redis-cli", "-a", Place::either, Part::all},
    {"mongo", "-p", Place::either, Part::all},
    {"mongosh", "-p", Place::either, Part::all},
    {"mongodump", "-p", Place::either, Part::all},
    {"mongorestore", "-p", Place::either, Part::all},
    {"login", "-p", Place::either, Part::all},
    {"ldapsearch", "-w", Place::either, Part::all},
    {"ldapadd", "-w", Place::either, Part::all},
    {"ldapmodify", "-w", Place::either, Part::all},
    {"ldapwhoami", "-w", Place::either, Part::all},
    {"unzip", "-P", Place::either, Part::all},
    {"zip", "-P", Place::either, Part::all},
    {"curl", "-u", Place::either, Part::after_colon},
    {"curl", "--user", Place::next, Part::after_colon},
    {"curl", "-U", Place::either, Part::after_colon},
    {"curl", "--proxy-user", Place::next, Part::after_colon},
    {"curl", "-b", Place::either, Part::all},
    {"curl", "--cookie", Place::next, Part::all},
    {"smbclient", "-U", Place::either, Part::after_percent},
    {"rpcclient", "-U", Place::either, Part::after_percent},
}};

constexpr std::array<std::string_view, 7> kLoginPrograms{"docker",  "podman", "buildah", "skopeo",
                                                         "nerdctl", "helm",   "az"};

constexpr std::array<std::string_view, 5> kPasswordReaders{"chpasswd", "passwd", "smbpasswd",
                                                           "kinit", "cryptsetup"};

}  // namespace

std::span<const SecretOption> secret_options() noexcept { return kSecretOptions; }

bool has_login_command(std::string_view program) noexcept {
  return std::find(kLoginPrograms.begin(), kLoginPrograms.end(), program) != kLoginPrograms.end();
}

bool reads_password_from_stdin(std::string_view program) noexcept {
  return std::find(kPasswordReaders.begin(), kPasswordReaders.end(), program) !=
         kPasswordReaders.end();
}

}  // namespace sshx
