#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/secret.h"

namespace sshx::secret {

/// `text` encrypted under `passphrase`, as a JSON document sshx.vault.v1. The key is derived by
/// scrypt (RFC 7914; N 2^17, r 8, p 1: 128 MiB), with a salt of its own each time; the text is
/// encrypted by AES-256-GCM (NIST SP 800-38D), which protects the parameters as well. Takes about a
/// third of a second. Returns: secret (`failed`: the library refuses).
[[nodiscard]] Result<std::string> seal(const Secret& text, const Secret& passphrase);

/// The text again. Returns: secret (`vault_format`: no such document, or parameters beyond what
/// seal() would choose; `vault_passphrase`: another passphrase, or the document was changed).
[[nodiscard]] Result<Secret> unseal(std::string_view sealed, const Secret& passphrase);

}  // namespace sshx::secret
