#pragma once

// An independent judge of signatures: OpenSSL's high-level interface on the public key that
// ssh-keygen wrote.

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/public_key.h"
#include "core/wire.h"
#include "unit/loop/scratch.h"

namespace sshx::test {

template <auto Free>
struct OpensslDeleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;
using BioPointer = std::unique_ptr<BIO, OpensslDeleter<BIO_free>>;

inline const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

inline PublicKey public_key_in(const std::string& pub_path) {
  auto key = parse_public_key(read_text(pub_path));
  EXPECT_TRUE(key.has_value()) << pub_path;
  return key.has_value() ? *key : PublicKey();
}

inline KeyPointer ed25519_public(std::string_view raw) {
  return KeyPointer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(raw), raw.size()));
}

/// OpenSSL's form of the public key in a .pub file.
inline KeyPointer openssl_public_key(const std::string& pub_path) {
  const PublicKey key = public_key_in(pub_path);
  if (key.type == "ssh-ed25519") {
    WireReader reader(key.blob);
    (void)reader.string();
    return ed25519_public(reader.string().value_or(""));
  }
  const std::string pem = run_program({"ssh-keygen", "-e", "-m", "PKCS8", "-f", pub_path});
  const BioPointer source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return KeyPointer(PEM_read_bio_PUBKEY(source.get(), nullptr, nullptr, nullptr));
}

inline const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm == "ssh-ed25519") return nullptr;
  if (algorithm == "ecdsa-sha2-nistp256" || algorithm == "rsa-sha2-256") return EVP_sha256();
  if (algorithm == "ecdsa-sha2-nistp384") return EVP_sha384();
  return EVP_sha512();
}

/// RFC 4251 §5: a positive mpint has no needless leading zero byte and is not negative.
inline bool is_positive_mpint(std::string_view number) {
  if (number.empty() || (octets(number)[0] & 0x80U) != 0) return false;
  return number[0] != '\0' || (number.size() > 1 && (octets(number)[1] & 0x80U) != 0);
}

/// RFC 5656 §3.1.2: the two numbers, as the DER that OpenSSL reads. Empty when it is not that.
inline std::string ecdsa_der(std::string_view inner) {
  WireReader reader(inner);
  const auto r = reader.string();
  const auto s = reader.string();
  if (!r || !s || !reader.rest().empty() || !is_positive_mpint(*r) || !is_positive_mpint(*s))
    return {};
  ECDSA_SIG* pair = ECDSA_SIG_new();
  ECDSA_SIG_set0(pair, BN_bin2bn(octets(*r), static_cast<int>(r->size()), nullptr),
                 BN_bin2bn(octets(*s), static_cast<int>(s->size()), nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair, &der);
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  ECDSA_SIG_free(pair);
  return text;
}

/// Fails the test unless `signature` (RFC 4253 §6.6) is the one of `data` by `algorithm`.
inline bool verifies(EVP_PKEY* key, std::string_view data, std::string_view algorithm,
                     std::string_view signature) {
  WireReader reader(signature);
  const auto named = reader.string();
  const auto inner = reader.string();
  EXPECT_EQ(named.value_or(""), algorithm);
  EXPECT_TRUE(inner.has_value() && reader.rest().empty());
  if (!inner) return false;
  const std::string bytes =
      algorithm.starts_with("ecdsa-") ? ecdsa_der(*inner) : std::string(*inner);
  const std::unique_ptr<EVP_MD_CTX, OpensslDeleter<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EXPECT_EQ(EVP_DigestVerifyInit(context.get(), nullptr, digest_of(algorithm), nullptr, key), 1);
  return EVP_DigestVerify(context.get(), octets(bytes), bytes.size(), octets(data), data.size()) ==
         1;
}

}  // namespace sshx::test
