#include "ssh/openssh_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/sha256.h"
#include "core/utf8.h"
#include "core/wire.h"

namespace sshx::ssh {
namespace {

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};
constexpr std::size_t kEd25519Seed = 32;

Result<std::string> decode_armour(std::string_view text, const std::string& path) {
  const auto begin = text.find(kBegin);
  const auto end = text.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return identity_format_error(path, "its END line is missing");
  }
  std::string base64(text.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  std::erase_if(base64,
                [](unsigned char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  auto bytes = from_base64(base64);
  if (!bytes) return identity_format_error(path, "its base64 text is damaged");
  return std::move(*bytes);
}

std::optional<PrivateNumbers> read_ed25519(WireReader& reader) {
  const auto public_part = reader.string();
  const auto secret = reader.string();
  if (!public_part || !secret || secret->size() != 2 * kEd25519Seed) return std::nullopt;
  if (secret->substr(kEd25519Seed) != *public_part) return std::nullopt;
  return Ed25519Numbers{std::string(secret->substr(0, kEd25519Seed)), std::string(*public_part)};
}

std::optional<PrivateNumbers> read_ecdsa(WireReader& reader) {
  const auto curve = reader.string();
  const auto point = reader.string();
  const auto scalar = reader.string();
  if (!curve || !point || !scalar) return std::nullopt;
  return EcdsaNumbers{std::string(*curve), std::string(*point), std::string(*scalar)};
}

std::optional<PrivateNumbers> read_rsa(WireReader& reader) {
  RsaNumbers numbers;
  for (auto* number : {&numbers.n, &numbers.e, &numbers.d, &numbers.iqmp, &numbers.p, &numbers.q}) {
    const auto value = reader.string();
    if (!value) return std::nullopt;
    *number = *value;
  }
  return numbers;
}

std::optional<PrivateNumbers> read_numbers(std::string_view type, WireReader& reader) {
  if (type == "ssh-ed25519") return read_ed25519(reader);
  if (type == "ssh-rsa") return read_rsa(reader);
  if (type.starts_with("ecdsa-sha2-nistp")) return read_ecdsa(reader);
  return std::nullopt;
}

/// The public key as the private section has it, in wire form.
struct PublicHalf {
  std::string_view type;

  std::string operator()(const Ed25519Numbers& numbers) const { return blob({&numbers.point}); }
  std::string operator()(const EcdsaNumbers& numbers) const {
    return blob({&numbers.curve, &numbers.point});
  }
  std::string operator()(const RsaNumbers& numbers) const { return blob({&numbers.e, &numbers.n}); }

  [[nodiscard]] std::string blob(std::initializer_list<const std::string*> fields) const {
    WireWriter writer;
    writer.string(type);
    for (const auto* field : fields) writer.string(*field);
    return writer.bytes();
  }
};

Result<OpensshKey> read_private_section(std::string_view section, std::string_view public_blob,
                                        const std::string& path) {
  WireReader reader(section);
  const auto check_one = reader.uint32();
  const auto check_two = reader.uint32();
  const auto type = reader.string();
  if (!check_one || check_one != check_two || !type) {
    return identity_format_error(path, "its private section is damaged");
  }
  auto numbers = read_numbers(*type, reader);
  if (!numbers) {
    return identity_format_error(
        path, fmt::format("keys of type \"{}\" cannot be read", printable(type->substr(0, 64))));
  }
  if (std::visit(PublicHalf{*type}, *numbers) != public_blob) {
    return identity_format_error(path, "its two halves do not belong together");
  }
  SSHX_TRY(auto key, public_key_from_blob(std::string(public_blob)));
  return OpensshKey{std::move(key), std::move(*numbers)};
}

}  // namespace

Error identity_format_error(const std::string& path, std::string_view why) {
  return {
      ErrorKind::auth, "identity_format",
      fmt::format("{} is not a usable private key: {}", path, why),
      "give the private key file (not the .pub): Ed25519, ECDSA or RSA, in OpenSSH or PEM format"};
}

Error identity_encrypted_error(const std::string& path) {
  return {ErrorKind::auth, "identity_encrypted",
          fmt::format("the private key {} is encrypted", path),
          fmt::format("add it to the agent: ssh-add {}", path)};
}

bool is_openssh_key(std::string_view text) noexcept {
  return text.find(kBegin) != std::string_view::npos;
}

Result<OpensshKey> parse_openssh_key(std::string_view text, const std::string& path) {
  SSHX_TRY(const auto bytes, decode_armour(text, path));
  if (!std::string_view(bytes).starts_with(kMagic))
    return identity_format_error(path, "its magic is wrong");
  WireReader reader(std::string_view(bytes).substr(kMagic.size()));
  const auto cipher = reader.string();
  const auto derivation = reader.string();
  const auto derivation_options = reader.string();
  const auto count = reader.uint32();
  const auto public_blob = reader.string();
  const auto section = reader.string();
  if (!cipher || !derivation || !derivation_options || count != 1U || !public_blob || !section) {
    return identity_format_error(path, "its structure is damaged");
  }
  if (*cipher != "none" || *derivation != "none") return identity_encrypted_error(path);
  return read_private_section(*section, *public_blob, path);
}

}  // namespace sshx::ssh
