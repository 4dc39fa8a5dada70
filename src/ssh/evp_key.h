#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ssh/openssh_key.h"

struct evp_pkey_st;

namespace sshx::ssh {

/// A private key as OpenSSL holds it. The only place that knows OpenSSL's keys.
class EvpKey {
 public:
  /// Nothing when the numbers do not belong together.
  [[nodiscard]] static std::optional<EvpKey> from_numbers(const PrivateNumbers& numbers);

  struct PemAnswer;
  /// Reads PEM or PKCS#8; tells an encrypted key, for which it asks nobody, from no key at all.
  [[nodiscard]] static PemAnswer from_pem(std::string_view text);

  /// The wire form of the public half (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4); nothing for a
  /// type that cannot be used to log in.
  [[nodiscard]] std::optional<std::string> public_blob() const;

  /// Whether what the private half signs, the public half accepts: a damaged file may make a key
  /// all the same.
  [[nodiscard]] bool works() const;

  /// The inner signature of RFC 4253 §6.6, RFC 5656 §3.1.2, RFC 8332 or RFC 8709; nothing when the
  /// key cannot sign with `algorithm`.
  [[nodiscard]] std::optional<std::string> sign(std::string_view data,
                                                std::string_view algorithm) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  explicit EvpKey(std::unique_ptr<evp_pkey_st, Free> key) : key_(std::move(key)) {}
  std::unique_ptr<evp_pkey_st, Free> key_;
};

struct EvpKey::PemAnswer {
  std::optional<EvpKey> key;
  bool encrypted = false;
};

/// Overwrites bytes that were a secret.
void wipe(std::string& bytes) noexcept;

}  // namespace sshx::ssh
