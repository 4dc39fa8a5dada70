#pragma once

#include <string_view>

namespace sshx {

/// Whether the value of a variable, option, key or header of this name is a secret: DB_PASSWORD,
/// --api-key, authToken. Names of things around a secret (PASSWORD_FILE, --no-password, max_tokens,
/// PasswordAuthentication) are not.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// Whether `word` is a credential by its own form: the prefixes that issuers give theirs, or a JSON
/// Web Token.
[[nodiscard]] bool is_known_credential(std::string_view word) noexcept;

/// Whether `word` looks made by a machine, or chosen as a password, rather than written in a
/// sentence.
[[nodiscard]] bool looks_random(std::string_view word) noexcept;

}  // namespace sshx
