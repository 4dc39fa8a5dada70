#pragma once

#include <string>
#include <string_view>

#include "core/public_key.h"
#include "loop/loop.h"

namespace sshx::ssh {

/// A private key that can prove itself, wherever it lives: in memory, or behind an agent.
class Signer {
 public:
  Signer() = default;
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;
  virtual ~Signer() = default;

  [[nodiscard]] virtual const PublicKey& public_key() const noexcept = 0;
  /// Names the key for people: a path, or "agent key COMMENT".
  [[nodiscard]] virtual std::string description() const = 0;
  /// True when signing asks nobody and reaches no other process, so that it may be done before the
  /// server has said that it wants this key.
  [[nodiscard]] virtual bool signs_silently() const noexcept { return false; }
  /// The signature of `data` by `algorithm` ("rsa-sha2-512" for an RSA key), in the wire form of
  /// RFC 4253 §6.6: the algorithm's name and the signature as strings. May wait for an agent.
  /// Returns: auth, unsupported.
  [[nodiscard]] virtual Task<Result<std::string>> sign(std::string data, std::string algorithm) = 0;
};

}  // namespace sshx::ssh
