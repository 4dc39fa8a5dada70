#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "exec/target.h"
#include "inventory/known_hosts.h"
#include "ssh/connection.h"

namespace sshx::exec {

/// How strictly a host's key is judged. Anything but strict is the caller's explicit, loud choice.
enum class HostKeyStrictness : std::uint8_t { strict, accept_unknown, insecure };

[[nodiscard]] std::string_view to_string(HostKeyStrictness strictness) noexcept;

/// What decides whether a host is the right one: the known_hosts records as they were when the
/// request was admitted, and how strictly they are applied.
struct Trust {
  inventory::KnownHosts known_hosts;
  /// Where `host trust` would record a key.
  std::filesystem::path user_file;
  HostKeyStrictness strictness = HostKeyStrictness::strict;
};

/// Reads the known_hosts files that a checked request means: its `known_hosts` alone, or the user's
/// and the global one. Returns: config (`known_hosts`, `unsafe_permissions`, `no_home`,
/// `request_conflict`).
[[nodiscard]] Result<Trust> load_trust(const Json& request);

/// The connection's policy for `target`: stored key types are asked for first, and `trust` judges
/// what comes. Warnings about relaxed judgement are added to `warnings`, which must outlive the
/// policy, as must `trust`. The check returns: host_key (`unknown`, `changed`, `revoked`,
/// `other_type`), each with what to do.
[[nodiscard]] ssh::HostKeyPolicy host_key_policy(const Trust& trust, const Target& target,
                                                 std::vector<std::string>& warnings);

}  // namespace sshx::exec
