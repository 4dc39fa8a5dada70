#include "core/public_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/sha256.h"
#include "core/utf8.h"
#include "core/wire.h"

namespace sshx {
namespace {

constexpr std::string_view kBlank = " \t";

/// A name by which a line may call a key, and what the key must look like: the type in its blob and
/// how many length-prefixed fields follow it (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4, OpenSSH
/// PROTOCOL.u2f).
struct KeyForm {
  std::string_view name;
  std::string_view blob_type;
  std::size_t fields;
};

constexpr std::array<KeyForm, 10> kForms{{
    {"ssh-ed25519", "ssh-ed25519", 1},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", 2},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", 2},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", 2},
    {"ssh-rsa", "ssh-rsa", 2},
    {"rsa-sha2-256", "ssh-rsa", 2},
    {"rsa-sha2-512", "ssh-rsa", 2},
    {"ssh-dss", "ssh-dss", 4},
    {"sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519@openssh.com", 2},
    {"sk-ecdsa-sha2-nistp256@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3},
}};

Error key_error(std::string why) { return config_error("public_key", std::move(why)); }

std::string_view take_word(std::string_view& text) {
  // Not find_first_of(): it searches the set anew for each character, which shows in a long file.
  const auto* const end =
      std::find_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; });
  const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return word;
}

bool has_form(std::string_view blob, const KeyForm& form) {
  WireReader reader(blob);
  if (reader.string() != form.blob_type) return false;
  for (std::size_t i = 0; i < form.fields; ++i) {
    if (!reader.string()) return false;
  }
  return reader.rest().empty();
}

}  // namespace

std::string fingerprint(const PublicKey& key) {
  return "SHA256:" + to_base64_unpadded(sha256(key.blob));
}

std::string public_key_text(const PublicKey& key) { return key.type + " " + to_base64(key.blob); }

Result<PublicKey> public_key_from_blob(std::string blob) {
  const auto type = WireReader(blob).string();
  if (!type || type->empty()) {
    return Error{ErrorKind::protocol, "handshake", "a public key has no type name", {}};
  }
  std::string name(*type);
  return PublicKey{std::move(name), std::move(blob)};
}

Result<PublicKey> parse_public_key(std::string_view text) {
  while (text.ends_with('\r') || text.ends_with('\n')) text.remove_suffix(1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const auto type = take_word(text);
  if (type.empty()) return key_error("no key");
  const auto* const form = std::find_if(kForms.begin(), kForms.end(),
                                        [&](const KeyForm& row) { return row.name == type; });
  if (form == kForms.end()) {
    return key_error(fmt::format("unknown key type \"{}\"", printable(type.substr(0, 64))));
  }
  auto blob = from_base64(take_word(text));
  if (!blob) return key_error("the key is not valid base64");
  if (!has_form(*blob, *form)) return key_error(fmt::format("the key is not a whole {} key", type));
  return PublicKey{std::string(form->blob_type), std::move(*blob)};
}

}  // namespace sshx
