#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx {

/// A public key (RFC 4253 §6.6): its type name, such as "ssh-ed25519", and its wire form.
struct PublicKey {
  std::string type;
  std::string blob;

  bool operator==(const PublicKey&) const = default;
};

/// "SHA256:" and unpadded base64 of the wire form's digest, as ssh-keygen -l prints.
[[nodiscard]] std::string fingerprint(const PublicKey& key);

/// The key whose wire form `blob` is; its type is the blob's own first string (RFC 4251 §5), not a
/// negotiated name. Returns: protocol (`handshake`) when the blob does not begin with a string.
[[nodiscard]] Result<PublicKey> public_key_from_blob(std::string blob);

/// "TYPE BASE64", the form of a .pub file and of a known_hosts line.
[[nodiscard]] std::string public_key_text(const PublicKey& key);

/// The key at the front of "TYPE BASE64 [COMMENT]" (white space is blanks and tabs, a carriage
/// return at the end is ignored). The type is the blob's own; a line may name an RSA key by a
/// signature algorithm, as sshkey_read() allows. Returns: config (`public_key`).
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);

}  // namespace sshx
