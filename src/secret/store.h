#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/secret.h"

namespace sshx::secret {

/// Where secrets are kept, each under a key of its own.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// What documents call it: secret_service or vault.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // Each waits at most three seconds for whoever keeps the secrets, and as long as it takes for a
  // person who is asked for a passphrase. Each returns: secret (see open_store for those of a
  // store), local_io, busy.

  /// Returns besides: secret (`not_found`).
  [[nodiscard]] virtual Result<Secret> get(const std::string& key) = 0;
  /// Replaces what is there.
  [[nodiscard]] virtual Status set(const std::string& key, const Secret& secret) = 0;
  /// Returns besides: secret (`not_found`).
  [[nodiscard]] virtual Status remove(const std::string& key) = 0;
  /// All keys, sorted; no secret is read for it.
  [[nodiscard]] virtual Result<std::vector<std::string>> keys() = 0;
};

/// What to do where nobody can be asked for the passphrase of a vault.
inline constexpr std::string_view kPassphraseHint =
    "put the passphrase into a file that only you may read, and name that in "
    "SSHX_VAULT_PASSPHRASE_FILE";

/// Asks for the passphrase of the vault `file`, which is to be made when `is_new`.
using AskPassphrase = std::function<Result<Secret>(const std::string& file, bool is_new)>;

/// The store that $SSHX_SECRET_BACKEND names: `secret-service` (without it, too), through
/// libsecret, or `vault`. Nothing is asked or opened before the store is used, and one never stands
/// in for the other. The vault's passphrase is the first line of $SSHX_VAULT_PASSPHRASE_FILE, which
/// only its owner may read, else what `ask` gives. Returns: config (`secret_backend`, `no_home`).
/// Stores return: secret (`unavailable`, `no_bus`, `no_provider`, `locked`, `not_responding`,
/// `failed` for secret-service; `no_passphrase`, `vault_passphrase`, `vault_format` for vault).
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(AskPassphrase ask);

/// The error of a key that is not there: secret (`not_found`).
[[nodiscard]] Error not_found(std::string_view key, std::string_view where);

}  // namespace sshx::secret
