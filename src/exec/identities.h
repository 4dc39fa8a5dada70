#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "exec/target.h"
#include "ssh/connection.h"
#include "ssh/signer.h"

namespace sshx::exec {

/// Which keys to log in with, as configured; nothing was opened for it.
struct IdentityChoice {
  /// The configured private key file, expanded; empty: the agent's keys, then the default files.
  std::string file;
  bool only = false;
  /// The agent's socket; empty: no agent.
  std::string agent_socket;
  /// Whether the caller named the agent, so that its absence is an error.
  bool agent_required = false;
  /// Whether the caller named none, and neither does the environment.
  bool agent_unset = false;
};

/// From a checked request and $SSH_AUTH_SOCK. Returns: config (`no_home`, `request_conflict`).
[[nodiscard]] Result<IdentityChoice> choose_identities(const Json& request, const Target& target);

/// What a plan may say of the choice offline: the fingerprint in the .pub file beside a configured
/// key.
struct PublicIdentity {
  std::string kind;  ///< file, agent or none
  std::optional<std::string> path;
  std::optional<std::string> fingerprint;
};
[[nodiscard]] PublicIdentity public_identity(const IdentityChoice& choice);

/// The private keys of a run, each file read and decoded once, whatever came of it. Belongs to the
/// loop's thread.
class PrivateKeys {
 public:
  /// Returns: what ssh::load_private_key returns.
  [[nodiscard]] Result<std::shared_ptr<ssh::Signer>> load(const std::string& path);

 private:
  std::map<std::string, Result<std::shared_ptr<ssh::Signer>>> loaded_;
};

/// The keys to offer, in order: the configured file (or that key in the agent, when the file is
/// missing or encrypted and its .pub is there), then the agent's others; at most `kKeyBudget`.
/// Without a configured file: the agent's, then the default files. Reads local files and asks the
/// agent until `deadline`; no packet leaves the machine. Returns: auth (`identity_missing`,
/// `identity_permission`, `identity_encrypted`, `identity_format`, `agent_unavailable`,
/// `no_identity`), cancelled.
[[nodiscard]] Task<Result<std::vector<std::shared_ptr<ssh::Signer>>>>
open_identities(Runtime runtime, const IdentityChoice& choice, PrivateKeys& keys,
                Deadline deadline);

/// Servers end a session after six failures (MaxAuthTries); more keys than that cannot be told
/// apart from an attack.
inline constexpr std::size_t kKeyBudget = 6;

}  // namespace sshx::exec
