#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/public_key.h"
#include "core/result.h"

namespace sshx::inventory {

/// The name under which known_hosts keeps a host: in lower case, as [host]:port where the port is
/// not 22.
[[nodiscard]] std::string known_hosts_name(std::string_view host, std::uint16_t port);

enum class Marker : std::uint8_t { none, revoked, cert_authority };

/// One record of a known_hosts file (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
struct KnownHostsLine {
  Marker marker = Marker::none;
  /// Comma-separated patterns in lower case; empty where the name is hashed.
  std::string patterns;
  /// HMAC-SHA1 of the name under `salt`; empty where it is not hashed.
  std::string salt;
  std::string hash;
  PublicKey key;

  /// `name` is one of known_hosts_name().
  [[nodiscard]] bool matches(std::string_view name) const;

  /// Where the line spells out the names that it matches, these and no others, as views of
  /// `patterns`. Nothing where matches() has to be asked: a hashed name, wildcards, negation, and
  /// names too long for ssh(1).
  [[nodiscard]] std::optional<std::vector<std::string_view>> plain_names() const;
};

/// Reads one line (without its newline); nothing for a blank line or a comment. Differs from ssh(1)
/// in one point, on the safe side: a tab may end a marker, where ssh(1) ignores such a line if a
/// blank comes later in it. Returns: config (`known_hosts`, `public_key`); the message says only
/// why.
[[nodiscard]] Result<std::optional<KnownHostsLine>> parse_known_hosts_line(std::string_view line);

}  // namespace sshx::inventory
