#include "ssh/evp_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <array>
#include <utility>

#include "core/wire.h"
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

using NumberContext = std::unique_ptr<BN_CTX, Freeing<BN_CTX_free>>;

/// An RSA key's numbers with what follows from them.
struct Rsa {
  explicit Rsa(const RsaNumbers& from)
      : n(number_of(from.n)), e(number_of(from.e)), d(number_of(from.d)), p(number_of(from.p)),
        q(number_of(from.q)), coefficient(number_of(from.iqmp)) {}

  Number n, e, d, p, q, coefficient;
  Number dp = Number(BN_new());  ///< d mod (p - 1)
  Number dq = Number(BN_new());  ///< d mod (q - 1)
};

/// Sets `half` to d mod (prime - 1), and says whether e times d is 1 there, as it must be.
bool halve(const Rsa& rsa, const BIGNUM* prime, BIGNUM* half, BN_CTX* context) {
  const Number less_one(BN_dup(prime));
  const Number product(BN_new());
  return BN_sub_word(less_one.get(), 1) == 1 && BN_is_zero(less_one.get()) == 0 &&
         BN_mod(half, rsa.d.get(), less_one.get(), context) == 1 &&
         BN_mod_mul(product.get(), rsa.e.get(), rsa.d.get(), less_one.get(), context) == 1 &&
         BN_is_one(product.get()) == 1;
}

/// Whether the numbers belong together: n = p q, and both halves and the coefficient fit.
bool complete(Rsa& rsa) {
  const NumberContext context(BN_CTX_new());
  const Number product(BN_new());
  if (BN_is_zero(rsa.p.get()) == 1 || BN_is_zero(rsa.q.get()) == 1) return false;
  const bool factors = BN_mul(product.get(), rsa.p.get(), rsa.q.get(), context.get()) == 1 &&
                       BN_cmp(product.get(), rsa.n.get()) == 0;
  return factors && halve(rsa, rsa.p.get(), rsa.dp.get(), context.get()) &&
         halve(rsa, rsa.q.get(), rsa.dq.get(), context.get()) &&
         BN_mod_mul(product.get(), rsa.coefficient.get(), rsa.q.get(), rsa.p.get(),
                    context.get()) == 1 &&
         BN_is_one(product.get()) == 1;
}

Key make_key(const RsaNumbers& numbers) {
  Rsa rsa(numbers);
  if (!complete(rsa)) return nullptr;
  // Without the two half exponents OpenSSL signs four times slower.
  using Parameter = std::pair<const char*, const BIGNUM*>;
  const std::array parameters{Parameter{OSSL_PKEY_PARAM_RSA_N, rsa.n.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_E, rsa.e.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_D, rsa.d.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_FACTOR1, rsa.p.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_FACTOR2, rsa.q.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_EXPONENT1, rsa.dp.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_EXPONENT2, rsa.dq.get()},
                              Parameter{OSSL_PKEY_PARAM_RSA_COEFFICIENT1, rsa.coefficient.get()}};
  const Builder builder(OSSL_PARAM_BLD_new());
  for (const auto& [name, number] : parameters) {
    OSSL_PARAM_BLD_push_BN(builder.get(), name, number);
  }
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

const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// A signature in OpenSSL's own form.
std::optional<std::string> raw_signature(EVP_PKEY* key, const EVP_MD* digest,
                                         std::string_view data) {
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, octets(data), data.size()) != 1) {
    return std::nullopt;
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     octets(data), data.size()) != 1) {
    return std::nullopt;
  }
  signature.resize(size);
  return signature;
}

/// PEM's password callback: there is none; remembers that it was asked.
int note_encrypted(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

std::string crypto_version_text() { return OpenSSL_version(OPENSSL_FULL_VERSION_STRING); }

void wipe(std::string& bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

void EvpKey::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

std::optional<EvpKey> EvpKey::from_numbers(const PrivateNumbers& numbers) {
  auto key = std::visit([](const auto& kind) { return make_key(kind); }, numbers);
  if (!key) return std::nullopt;
  return EvpKey(std::unique_ptr<evp_pkey_st, Free>(key.release()));
}

EvpKey::PemAnswer EvpKey::from_pem(std::string_view text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  PemAnswer answer;
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &note_encrypted, &answer.encrypted));
  ERR_clear_error();
  if (key) answer.key = EvpKey(std::unique_ptr<evp_pkey_st, Free>(key.release()));
  return answer;
}

std::optional<std::string> EvpKey::public_blob() const {
  switch (EVP_PKEY_get_base_id(key_.get())) {
  case EVP_PKEY_ED25519: return ed25519_blob(key_.get());
  case EVP_PKEY_RSA: return rsa_blob(key_.get());
  case EVP_PKEY_EC: return ecdsa_blob(key_.get());
  default: return std::nullopt;
  }
}

bool EvpKey::works() const {
  // The public half was computed from the private one, so it fits, and trying it would take a tenth
  // of all that a short run computes.
  if (EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_ED25519) return true;
  constexpr std::string_view kProbe = "sshx";
  const auto* digest = EVP_sha256();
  const auto signature = raw_signature(key_.get(), digest, kProbe);
  const DigestContext context(EVP_MD_CTX_new());
  const bool fits =
      signature && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), octets(*signature), signature->size(), octets(kProbe),
                       kProbe.size()) == 1;
  ERR_clear_error();
  return fits;
}

std::optional<std::string> EvpKey::sign(std::string_view data, std::string_view algorithm) const {
  auto signature = raw_signature(key_.get(), digest_for(algorithm), data);
  if (!signature || !algorithm.starts_with("ecdsa-")) return signature;
  return ecdsa_wire(*signature);
}

}  // namespace sshx::ssh
