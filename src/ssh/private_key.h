#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ssh/signer.h"

namespace sshx::ssh {

/// Reads an unencrypted private key (Ed25519, ECDSA on the NIST curves, RSA; OpenSSH's format, PEM
/// or PKCS#8) and keeps it in memory, so that a fan-out decodes it once. `path` names it in
/// messages. Returns: auth (`identity_missing`, `identity_permission`, `identity_encrypted`,
/// `identity_format`).
[[nodiscard]] Result<std::unique_ptr<Signer>> load_private_key(const std::string& path);

/// The same from the file's text. Returns: auth (`identity_encrypted`, `identity_format`).
[[nodiscard]] Result<std::unique_ptr<Signer>> parse_private_key(std::string_view text,
                                                                const std::string& path);

}  // namespace sshx::ssh
