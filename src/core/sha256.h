#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx {

/// The 32 raw bytes of SHA-256 (FIPS 180-4) of `bytes`.
[[nodiscard]] std::string sha256(std::string_view bytes);

/// "sha256:" and 64 hex digits: the form of every digest in a document.
[[nodiscard]] std::string sha256_label(std::string_view bytes);

/// The 20 raw bytes of HMAC-SHA1 (RFC 2104), which hashed known_hosts names use.
[[nodiscard]] std::string hmac_sha1(std::string_view key, std::string_view message);

/// `count` bytes from the system's random generator.
[[nodiscard]] std::string random_bytes(std::size_t count);

[[nodiscard]] std::string to_hex(std::string_view bytes);

/// RFC 4648 base64 with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// RFC 4648 base64, `fingerprint` style: without padding.
[[nodiscard]] std::string to_base64_unpadded(std::string_view bytes);
/// The bytes of RFC 4648 base64 text (padding required, no white space). Returns: config
/// (`base64`).
[[nodiscard]] Result<std::string> from_base64(std::string_view text);

}  // namespace sshx
