#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/public_key.h"

namespace sshx::ssh {

/// The numbers of an unencrypted key in OpenSSH's format (PROTOCOL.key), as they stand there:
/// big-endian, unsigned or with a leading zero byte.
struct Ed25519Numbers {
  std::string seed;
  std::string point;
};
struct EcdsaNumbers {
  std::string curve;
  std::string point;
  std::string scalar;
};
struct RsaNumbers {
  std::string n, e, d, iqmp, p, q;
};
using PrivateNumbers = std::variant<Ed25519Numbers, EcdsaNumbers, RsaNumbers>;

struct OpensshKey {
  PublicKey public_key;
  PrivateNumbers numbers;
};

[[nodiscard]] bool is_openssh_key(std::string_view text) noexcept;

/// Reads the text between the BEGIN and END lines of an OpenSSH private key.
/// Returns: auth (`identity_encrypted`, `identity_format`).
[[nodiscard]] Result<OpensshKey> parse_openssh_key(std::string_view text, const std::string& path);

/// auth (`identity_format`) for `path`, with why.
[[nodiscard]] Error identity_format_error(const std::string& path, std::string_view why);
/// auth (`identity_encrypted`) for `path`.
[[nodiscard]] Error identity_encrypted_error(const std::string& path);

}  // namespace sshx::ssh
