#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sshx {

/// The caller's home: $HOME if set, absolute and owned by the caller, else the passwd entry's home.
/// Returns: config (`no_home`) when neither exists.
[[nodiscard]] Result<std::filesystem::path> home_directory();

/// This process's own binary, also where its file was replaced or deleted since (proc(5)).
inline constexpr const char* kOwnBinary = "/proc/self/exe";

/// The login name of the calling user, from the passwd entry; "uid-N" when there is none.
[[nodiscard]] std::string local_user_name();

/// `~` and `~/...` at the front become the home. Returns: config (`no_home`).
[[nodiscard]] Result<std::filesystem::path> expand_home(std::string_view text);

/// Where sshx keeps its own files (design §10): everything in $SSHX_HOME if set, else the XDG base
/// directories. Each returns: config (`no_home`).
[[nodiscard]] Result<std::filesystem::path> hosts_file_path();
[[nodiscard]] Result<std::filesystem::path> audit_database_path();
[[nodiscard]] Result<std::filesystem::path> vault_path();

/// ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts stay where OpenSSH keeps them.
[[nodiscard]] Result<std::filesystem::path> user_known_hosts_path();
[[nodiscard]] std::filesystem::path global_known_hosts_path();

/// Folders of which no file may be sent anywhere at somebody's request: OpenSSH's, with keys and
/// trust, and those of sshx, wherever the environment or the passwd entry puts them. They need not
/// exist.
[[nodiscard]] std::vector<std::filesystem::path> protected_folders();

}  // namespace sshx
