// OpenSSH's private key container. The first byte says what the rest is: "T" the text of a key
// file, "C" a container, and "E", "D" or "R" a list of changes (offset in two bytes, value to
// exclusive-or) to a whole Ed25519, ECDSA or RSA container, so that no key needs to be stored.

#include "core/sha256.h"
#include "fuzz/property.h"
#include "fuzz/test_containers.h"
#include "ssh/evp_key.h"
#include "ssh/openssh_key.h"
#include "ssh/private_key.h"

namespace sshx::fuzz {
namespace {

constexpr std::size_t kChangeSize = 3;

std::string armoured(std::string_view bytes) {
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + to_base64(bytes) +
         "\n-----END OPENSSH PRIVATE KEY-----\n";
}

const std::string& whole_container(char kind) {
  static const std::string kEd25519 = ed25519_container();
  static const std::string kEcdsa = ecdsa_container();
  static const std::string kRsa = rsa_container();
  if (kind == 'E') return kEd25519;
  return kind == 'D' ? kEcdsa : kRsa;
}

std::string changed(std::string container, std::string_view changes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
  for (; changes.size() >= kChangeSize; changes.remove_prefix(kChangeSize)) {
    const std::size_t offset = byte(0) * std::size_t{256} + byte(1);
    char& target = container[offset % container.size()];
    target = static_cast<char>(static_cast<unsigned char>(target) ^ byte(2));
  }
  return container;
}

void check_refusal(const Error& error) {
  require(error.kind == ErrorKind::auth &&
              (error.code == "identity_format" || error.code == "identity_encrypted"),
          "a key that cannot be read is auth/identity_format or identity_encrypted");
  require_presentable(error);
}

std::string_view algorithm_for(const PublicKey& key) {
  return key.type == "ssh-rsa" ? "rsa-sha2-256" : std::string_view(key.type);
}

void check_signer(const ssh::OpensshKey& parsed, const ssh::Signer& signer) {
  require(signer.public_key() == parsed.public_key, "the key is the one that the file names");
  const auto line = parse_public_key(public_key_text(parsed.public_key));
  require(line && *line == parsed.public_key, "the public half is a whole key");
  const auto key = ssh::EvpKey::from_numbers(parsed.numbers);
  require(key && key->sign("challenge", algorithm_for(parsed.public_key)).has_value(),
          "a key that was accepted can sign");
}

/// Whether the text holds a key that can be used.
bool check_text(std::string_view text) {
  const auto signer = ssh::parse_private_key(text, "FILE");
  if (!signer) {
    check_refusal(signer.error());
    return false;
  }
  if (!ssh::is_openssh_key(text)) return true;
  const auto parsed = ssh::parse_openssh_key(text, "FILE");
  require(parsed.has_value(), "a key that was accepted can be read");
  check_signer(*parsed, **signer);
  return true;
}

void check(std::string_view input) {
  if (input.empty()) return;
  const char kind = input.front();
  input.remove_prefix(1);
  if (kind == 'T') {
    check_text(input);
  } else if (kind == 'C') {
    check_text(armoured(std::string(kContainerMagic) + std::string(input)));
  } else {
    const auto& whole = whole_container(kind);
    const auto container = changed(whole, input);
    require(check_text(armoured(container)) || container != whole, "a whole key is accepted");
  }
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
