#include "ssh/private_key.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "core/file.h"
#include "core/wire.h"
#include "ssh/evp_key.h"
#include "ssh/openssh_key.h"

namespace sshx::ssh {
namespace {

constexpr std::size_t kKeyFileLimit = 1024UL * 1024;

class MemorySigner final : public Signer {
 public:
  MemorySigner(EvpKey key, PublicKey public_key, std::string path)
      : key_(std::move(key)), public_key_(std::move(public_key)), path_(std::move(path)) {}

  [[nodiscard]] const PublicKey& public_key() const noexcept override { return public_key_; }
  [[nodiscard]] std::string description() const override { return path_; }
  [[nodiscard]] bool signs_silently() const noexcept override { return true; }

  Task<Result<std::string>> sign(std::string data, std::string algorithm) override {
    const bool rsa = public_key_.type == "ssh-rsa";
    const bool known = rsa ? algorithm.starts_with("rsa-sha2-") : algorithm == public_key_.type;
    const auto signature = known ? key_.sign(data, algorithm) : std::nullopt;
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
  EvpKey key_;
  PublicKey public_key_;
  std::string path_;
};

Result<std::unique_ptr<Signer>> signer_of(std::optional<EvpKey> key, const std::string& path) {
  if (!key) return identity_format_error(path, "its numbers make no key");
  auto blob = key->public_blob();
  if (!blob)
    return identity_format_error(path, "its type is none of Ed25519, ECDSA on a NIST curve, RSA");
  if (!key->works()) return identity_format_error(path, "its two halves do not belong together");
  SSHX_TRY(auto public_key, public_key_from_blob(std::move(*blob)));
  return std::unique_ptr<Signer>(
      std::make_unique<MemorySigner>(std::move(*key), std::move(public_key), path));
}

Result<std::unique_ptr<Signer>> parse_pem(std::string_view text, const std::string& path) {
  auto answer = EvpKey::from_pem(text);
  if (answer.encrypted) return identity_encrypted_error(path);
  if (!answer.key) return identity_format_error(path, "it holds no private key");
  return signer_of(std::move(answer.key), path);
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

Result<std::unique_ptr<Signer>> parse_private_key(std::string_view text, const std::string& path) {
  if (!is_openssh_key(text)) return parse_pem(text, path);
  SSHX_TRY(const auto parsed, parse_openssh_key(text, path));
  SSHX_TRY(auto signer, signer_of(EvpKey::from_numbers(parsed.numbers), path));
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
  wipe(*text);
  return signer;
}

}  // namespace sshx::ssh
