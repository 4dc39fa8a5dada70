#include "secret/sealed_text.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

#include "core/json.h"
#include "core/sha256.h"

namespace sshx::secret {
namespace {

constexpr std::string_view kVersion = "sshx.vault.v1";
constexpr int kLogN = 17;
constexpr std::uint64_t kBlockSize = 8;
constexpr std::uint64_t kParallel = 1;
/// A little more than scrypt's 128 * N * r bytes, which OpenSSL wants to be allowed.
constexpr std::uint64_t kMostMemory = 160UL << 20U;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using Bytes = std::array<unsigned char, kKeyBytes>;
using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Error refused() {
  return {ErrorKind::secret, "failed", "the cryptographic library refused to work on the vault",
          "it may be short of memory: 128 MiB are needed"};
}

Error no_vault() {
  return {ErrorKind::secret, "vault_format", "the vault is not one that this version can read",
          "put a copy of it back, or move it away and set the secrets again"};
}

Error cannot_open() {
  return {ErrorKind::secret, "vault_passphrase",
          "the vault does not open: the passphrase is another one, or the file was changed",
          "check the passphrase; there is no other way in"};
}

/// The key for `passphrase`; wiped by whoever asked.
bool derive(const Secret& passphrase, std::string_view salt, Bytes& key) {
  const auto text = passphrase.reveal();
  return EVP_PBE_scrypt(text.data(), text.size(), bytes_of(salt), salt.size(), 1UL << kLogN,
                        kBlockSize, kParallel, kMostMemory, key.data(), key.size()) == 1;
}

/// What stands in the document beside the encrypted text, and is authenticated with it.
Json head(std::string_view salt, std::string_view nonce) {
  return {{"schema_version", kVersion},
          {"kdf", "scrypt"},
          {"log_n", kLogN},
          {"r", kBlockSize},
          {"p", kParallel},
          {"salt", to_base64(salt)},
          {"cipher", "aes-256-gcm"},
          {"nonce", to_base64(nonce)}};
}

/// One pass of the cipher over `text`, with `associated` authenticated; with the tag to compare
/// when decrypting, else it is put there.
bool crypt(bool encrypts, const Bytes& key, std::string_view nonce, std::string_view associated,
           std::string_view text, std::string& out, std::string& tag) {
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int written = 0;
  out.resize(text.size());
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  if (!context ||
      EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), bytes_of(nonce),
                        encrypts ? 1 : 0) != 1 ||
      EVP_CipherUpdate(context.get(), nullptr, &written, bytes_of(associated),
                       static_cast<int>(associated.size())) != 1 ||
      EVP_CipherUpdate(context.get(), to, &written, bytes_of(text),
                       static_cast<int>(text.size())) != 1)
    return false;
  const int size = static_cast<int>(kTagBytes);
  if (!encrypts && EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, size, tag.data()) != 1)
    return false;
  if (EVP_CipherFinal_ex(context.get(), to + written, &written) != 1) return false;
  return !encrypts ||
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, size, tag.data()) == 1;
}

/// The bytes of that base64 property.
Result<std::string> bytes_at(const Json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_string()) return no_vault();
  auto bytes = from_base64(found->get<std::string>());
  if (!bytes) return no_vault();
  return bytes;
}

}  // namespace

Result<std::string> seal(const Secret& text, const Secret& passphrase) {
  const auto salt = random_bytes(kSaltBytes);
  const auto nonce = random_bytes(kNonceBytes);
  auto document = head(salt, nonce);
  Bytes key{};
  std::string out;
  std::string tag(kTagBytes, '\0');
  const bool done = derive(passphrase, salt, key) &&
                    crypt(true, key, nonce, dump_json(document), text.reveal(), out, tag);
  OPENSSL_cleanse(key.data(), key.size());
  if (!done) return refused();
  document["data"] = to_base64(out + tag);
  return dump_json(document) + "\n";
}

Result<Secret> unseal(std::string_view sealed, const Secret& passphrase) {
  const auto document = parse_json(sealed, "the vault");
  if (!document || !document->is_object()) return no_vault();
  SSHX_TRY(const auto salt, bytes_at(*document, "salt"));
  SSHX_TRY(const auto nonce, bytes_at(*document, "nonce"));
  SSHX_TRY(const auto data, bytes_at(*document, "data"));
  auto expected = head(salt, nonce);
  const auto associated = dump_json(expected);
  expected["data"] = (*document)["data"];
  const bool known = expected == *document && salt.size() == kSaltBytes &&
                     nonce.size() == kNonceBytes && data.size() >= kTagBytes;
  if (!known) return no_vault();
  Bytes key{};
  if (!derive(passphrase, salt, key)) return refused();
  const std::string_view text(data.data(), data.size() - kTagBytes);
  std::string tag(data.end() - static_cast<std::ptrdiff_t>(kTagBytes), data.end());
  std::string out;
  const bool opened = crypt(false, key, nonce, associated, text, out, tag);
  OPENSSL_cleanse(key.data(), key.size());
  Secret secret(std::move(out));
  if (!opened) return cannot_open();
  return secret;
}

}  // namespace sshx::secret
