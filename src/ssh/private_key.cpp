#include "ssh/private_key.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include "core/file.h"
#include "core/wire.h"
#include "ssh/openssh_key.h"
#include "ssh/version.h"

namespace sshx::ssh {
namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freeing<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freeing<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freeing<BN_clear_free>>;
using Bio = std::unique_ptr<BIO, Freeing<BIO_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freeing<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freeing<OSSL_PARAM_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, Freeing<ECDSA_SIG_free>>;

constexpr std::size_t kKeyFileLimit = 1024UL * 1024;

struct Curve {
  std::string_view ssh_name;
  const char* openssl_name;
  std::string_view key_type;
  const EVP_MD* (*digest)();
};
// RFC 5656 §6.2.1 pairs each curve with a hash.
constexpr std::array<Curve, 3> kCurves{{
    {"nistp256", "prime256v1", "ecdsa-sha2-nistp256", EVP_sha256},
    {"nistp384", "secp384r1", "ecdsa-sha2-nistp384", EVP_sha384},
    {"nistp521", "secp521r1", "ecdsa-sha2-nistp521", EVP_sha512},
}};

template <class Matches>
const Curve* find_curve(Matches matches) {
  for (const auto& curve : kCurves) {
    if (matches(curve)) return &curve;
  }
  return nullptr;
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

/// An mpint's bytes (RFC 4251 §5): a leading zero keeps it positive.
std::string mpint_bytes(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  if (!bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0)
    bytes.insert(0, 1, '\0');
  return bytes;
}

Key key_from_parameters(const char* algorithm, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, algorithm, nullptr));
  EVP_PKEY* raw = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &raw, EVP_PKEY_KEYPAIR, parameters.get()) != 1) {
    return nullptr;
  }
  return Key(raw);
}

Key make_key(const Ed25519Numbers& numbers) {
  return Key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(numbers.seed.data()),
      numbers.seed.size()));
}

Key make_key(const EcdsaNumbers& numbers) {
  const auto* curve = find_curve([&](const Curve& c) { return c.ssh_name == numbers.curve; });
  if (curve == nullptr) return nullptr;
  const Builder builder(OSSL_PARAM_BLD_new());
  const auto scalar = number_of(numbers.scalar);
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl_name,
                                  0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, numbers.point.data(),
                                   numbers.point.size());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar.get());
  return key_from_parameters("EC", builder.get());
}

/// d mod (prime - 1): the exponent of one half of the Chinese remainder form.
Number half_exponent(const BIGNUM* d, const BIGNUM* prime) {
  const std::unique_ptr<BN_CTX, Freeing<BN_CTX_free>> context(BN_CTX_new());
  const Number less_one(BN_dup(prime));
  Number exponent(BN_new());
  if (!context || !less_one || !exponent || BN_sub_word(less_one.get(), 1) != 1 ||
      BN_mod(exponent.get(), d, less_one.get(), context.get()) != 1) {
    return nullptr;
  }
  return exponent;
}

Key make_key(const RsaNumbers& numbers) {
  const auto d = number_of(numbers.d);
  const auto p = number_of(numbers.p);
  const auto q = number_of(numbers.q);
  const auto n = number_of(numbers.n);
  const auto e = number_of(numbers.e);
  const auto coefficient = number_of(numbers.iqmp);
  // Without the two half exponents OpenSSL signs four times slower.
  const auto dp = half_exponent(d.get(), p.get());
  const auto dq = half_exponent(d.get(), q.get());
  if (!dp || !dq) return nullptr;
  const Builder builder(OSSL_PARAM_BLD_new());
  const std::pair<const char*, const BIGNUM*> parameters[] = {
      {OSSL_PKEY_PARAM_RSA_N, n.get()},
      {OSSL_PKEY_PARAM_RSA_E, e.get()},
      {OSSL_PKEY_PARAM_RSA_D, d.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR1, p.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR2, q.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT1, dp.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT2, dq.get()},
      {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, coefficient.get()}};
  for (const auto& [name, number] : parameters) OSSL_PARAM_BLD_push_BN(builder.get(), name, number);
  return key_from_parameters("RSA", builder.get());
}

std::optional<std::string> ec_point(EVP_PKEY* key) {
  std::size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size) != 1)
    return std::nullopt;
  std::string point(size, '\0');
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY,
                                      reinterpret_cast<unsigned char*>(point.data()), size,
                                      &size) != 1) {
    return std::nullopt;
  }
  return point;
}

std::optional<std::string> number_parameter(EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &raw) != 1) return std::nullopt;
  const Number number(raw);
  return mpint_bytes(number.get());
}

std::optional<std::string> ed25519_blob(EVP_PKEY* key) {
  std::array<unsigned char, 32> raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1) return std::nullopt;
  WireWriter writer;
  writer.string("ssh-ed25519");
  writer.string({reinterpret_cast<const char*>(raw.data()), size});
  return writer.bytes();
}

std::optional<std::string> rsa_blob(EVP_PKEY* key) {
  const auto e = number_parameter(key, OSSL_PKEY_PARAM_RSA_E);
  const auto n = number_parameter(key, OSSL_PKEY_PARAM_RSA_N);
  if (!e || !n) return std::nullopt;
  WireWriter writer;
  writer.string("ssh-rsa");
  writer.string(*e);
  writer.string(*n);
  return writer.bytes();
}

std::optional<std::string> ecdsa_blob(EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name.data(), name.size(),
                                     &size) != 1) {
    return std::nullopt;
  }
  const std::string_view group(name.data(), size);
  const auto* curve = find_curve([&](const Curve& c) { return group == c.openssl_name; });
  const auto point = ec_point(key);
  if (curve == nullptr || !point) return std::nullopt;
  WireWriter writer;
  writer.string(curve->key_type);
  writer.string(curve->ssh_name);
  writer.string(*point);
  return writer.bytes();
}

/// The wire form of the key's public half (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4).
std::optional<std::string> public_blob(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
  case EVP_PKEY_ED25519: return ed25519_blob(key);
  case EVP_PKEY_RSA: return rsa_blob(key);
  case EVP_PKEY_EC: return ecdsa_blob(key);
  default: return std::nullopt;
  }
}

const EVP_MD* digest_for(std::string_view algorithm) {
  if (algorithm == "rsa-sha2-512") return EVP_sha512();
  if (algorithm == "rsa-sha2-256") return EVP_sha256();
  const auto* curve = find_curve([&](const Curve& c) { return c.key_type == algorithm; });
  return curve == nullptr ? nullptr : curve->digest();
}

/// RFC 5656 §3.1.2: an ECDSA signature is two mpints, where OpenSSL gives DER.
std::optional<std::string> ecdsa_wire(std::string_view der) {
  const auto* data = reinterpret_cast<const unsigned char*>(der.data());
  const EcSignature signature(d2i_ECDSA_SIG(nullptr, &data, static_cast<long>(der.size())));
  if (!signature) return std::nullopt;
  WireWriter writer;
  writer.string(mpint_bytes(ECDSA_SIG_get0_r(signature.get())));
  writer.string(mpint_bytes(ECDSA_SIG_get0_s(signature.get())));
  return writer.bytes();
}

std::optional<std::string> raw_signature(EVP_PKEY* key, std::string_view data,
                                         std::string_view algorithm) {
  const DigestContext context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, digest_for(algorithm), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size()) != 1) {
    return std::nullopt;
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, data.size()) != 1) {
    return std::nullopt;
  }
  signature.resize(size);
  return algorithm.starts_with("ecdsa-") ? ecdsa_wire(signature) : signature;
}

class MemorySigner final : public Signer {
 public:
  MemorySigner(Key key, PublicKey public_key, std::string path)
      : key_(std::move(key)), public_key_(std::move(public_key)), path_(std::move(path)) {}

  [[nodiscard]] const PublicKey& public_key() const noexcept override { return public_key_; }
  [[nodiscard]] std::string description() const override { return path_; }

  Task<Result<std::string>> sign(std::string data, std::string algorithm) override {
    const bool rsa = public_key_.type == "ssh-rsa";
    const bool known = rsa ? algorithm.starts_with("rsa-sha2-") : algorithm == public_key_.type;
    const auto signature = known ? raw_signature(key_.get(), data, algorithm) : std::nullopt;
    if (!signature) {
      co_return Error{ErrorKind::unsupported, "signature_algorithm",
                      fmt::format("{} cannot sign with {}", path_, algorithm), "use an Ed25519 key",
                      Phase::authenticate};
    }
    WireWriter writer;
    writer.string(algorithm);
    writer.string(*signature);
    co_return writer.bytes();
  }

 private:
  Key key_;
  PublicKey public_key_;
  std::string path_;
};

/// PEM's password callback: there is none; remembers that it was asked.
int note_encrypted(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<std::unique_ptr<Signer>> signer_of(Key key, const std::string& path) {
  if (!key) return identity_format_error(path, "its numbers make no key");
  auto blob = public_blob(key.get());
  if (!blob)
    return identity_format_error(path, "its type is none of Ed25519, ECDSA on a NIST curve, RSA");
  SSHX_TRY(auto public_key, public_key_from_blob(std::move(*blob)));
  return std::unique_ptr<Signer>(new MemorySigner(std::move(key), std::move(public_key), path));
}

Result<std::unique_ptr<Signer>> parse_pem(std::string_view text, const std::string& path) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  bool encrypted = false;
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &note_encrypted, &encrypted));
  ERR_clear_error();
  if (encrypted) return identity_encrypted_error(path);
  if (!key) return identity_format_error(path, "it holds no private key");
  return signer_of(std::move(key), path);
}

Error unreadable_identity(const std::string& path, const Error& reason) {
  if (reason.code == "not_found") {
    return {ErrorKind::auth, "identity_missing",
            fmt::format("the private key {} does not exist", path),
            "check the path, or make a key: ssh-keygen -t ed25519"};
  }
  if (reason.code == "permission") {
    return {ErrorKind::auth, "identity_permission",
            fmt::format("the private key {} may not be read", path),
            fmt::format("give yourself the right to read it: chmod u+r {}", path)};
  }
  return identity_format_error(path, reason.message);
}

/// As ssh(1): one's own private key that others may read is refused; somebody else's file is their
/// business.
Status check_not_shared(const std::string& path) {
  struct stat status {};
  constexpr mode_t kOthers = 077;
  if (::stat(path.c_str(), &status) != 0 || status.st_uid != ::getuid()) return {};
  if (!S_ISREG(status.st_mode) || (status.st_mode & kOthers) == 0) return {};
  return Error{ErrorKind::auth, "identity_permission",
               fmt::format("the private key {} can be used by others", path),
               fmt::format("keep it to yourself: chmod 600 {}", path)};
}

}  // namespace

std::string crypto_version_text() { return OpenSSL_version(OPENSSL_FULL_VERSION_STRING); }

Result<std::unique_ptr<Signer>> parse_private_key(std::string_view text, const std::string& path) {
  if (!is_openssh_key(text)) return parse_pem(text, path);
  SSHX_TRY(const auto parsed, parse_openssh_key(text, path));
  auto key = std::visit([](const auto& numbers) { return make_key(numbers); }, parsed.numbers);
  SSHX_TRY(auto signer, signer_of(std::move(key), path));
  if (signer->public_key() != parsed.public_key) {
    return identity_format_error(path, "its two halves do not belong together");
  }
  return signer;
}

Result<std::unique_ptr<Signer>> load_private_key(const std::string& path) {
  SSHX_CHECK(check_not_shared(path));
  auto text = read_file(path, kKeyFileLimit);
  if (!text) return unreadable_identity(path, text.error());
  auto signer = parse_private_key(*text, path);
  OPENSSL_cleanse(text->data(), text->size());
  return signer;
}

}  // namespace sshx::ssh
