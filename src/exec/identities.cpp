#include "exec/identities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/file.h"
#include "core/paths.h"
#include "core/public_key.h"
#include "ssh/agent.h"
#include "ssh/private_key.h"

namespace sshx::exec {
namespace {

using Signers = std::vector<std::shared_ptr<ssh::Signer>>;

constexpr std::size_t kPublicKeyLimit = 64UL * 1024;
// ssh(1)'s default files, without the security-key ones, which need their device.
constexpr std::array<std::string_view, 3> kDefaultFiles{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa",
                                                        "~/.ssh/id_rsa"};

std::optional<PublicKey> key_beside(const std::string& file) {
  const auto text = read_file(file + ".pub", kPublicKeyLimit);
  if (!text) return std::nullopt;
  auto key = parse_public_key(*text);
  if (!key) return std::nullopt;
  return std::move(*key);
}

Signers::iterator find_key(Signers& signers, const PublicKey& key) {
  return std::find_if(signers.begin(), signers.end(),
                      [&](const auto& signer) { return signer->public_key() == key; });
}

void append_new(Signers& signers, std::shared_ptr<ssh::Signer> signer) {
  const bool room = signers.size() < kKeyBudget;
  if (room && find_key(signers, signer->public_key()) == signers.end())
    signers.push_back(std::move(signer));
}

Result<std::shared_ptr<ssh::Signer>> read_key(const std::string& path) {
  SSHX_TRY(auto signer, ssh::load_private_key(path));
  return std::shared_ptr<ssh::Signer>(std::move(signer));
}

/// The configured key: from its file, else from the agent when the .pub file says which one it is.
Result<std::shared_ptr<ssh::Signer>> configured_key(const std::string& file, PrivateKeys& keys,
                                                    Signers& agent_keys) {
  auto loaded = keys.load(file);
  if (loaded) return loaded;
  const auto& code = loaded.error().code;
  const auto beside =
      code == "identity_missing" || code == "identity_encrypted" ? key_beside(file) : std::nullopt;
  if (beside) {
    const auto found = find_key(agent_keys, *beside);
    if (found != agent_keys.end()) return *found;
  }
  return std::move(loaded).error();
}

/// Default files are a convenience: one that is missing, encrypted or odd is passed over.
void append_default_files(Signers& signers, PrivateKeys& keys) {
  for (const auto name : kDefaultFiles) {
    const auto path = expand_home(name);
    if (!path) return;
    auto signer = keys.load(path->string());
    if (signer) append_new(signers, std::move(*signer));
  }
}

// MCP clients and cron jobs start programs with hardly any environment, which is hard to see.
constexpr std::string_view kNoAgentHint =
    "SSH_AUTH_SOCK is not set in this environment, so no agent is asked (MCP clients and cron jobs "
    "pass a bare one): set it there, as in the `env` of an MCP client's configuration, use "
    "--identity-agent SOCKET, or give the host an identity: sshx host update NAME --identity FILE";

Error no_identity(const IdentityChoice& choice) {
  if (choice.agent_unset) {
    return {ErrorKind::auth, "no_identity", "there is no key to log in with",
            std::string(kNoAgentHint)};
  }
  return {ErrorKind::auth, "no_identity", "there is no key to log in with",
          "add one to the agent: ssh-add FILE; use --identity FILE, or give the host one: sshx "
          "host update NAME --identity FILE"};
}

/// To add a key to the agent helps only where there is one.
Error with_agent_hint(Error error, const IdentityChoice& choice) {
  if (choice.agent_unset && error.code == "identity_encrypted")
    error.hint += fmt::format("; {}", kNoAgentHint);
  return error;
}

Task<Result<Signers>> agent_keys(Runtime runtime, const IdentityChoice& choice, Deadline deadline) {
  if (choice.agent_socket.empty()) co_return Signers();
  auto agent = co_await ssh::Agent::open(runtime.context, choice.agent_socket, deadline,
                                         runtime.cancellation);
  if (agent) co_return (*agent)->signers();
  const bool fatal = choice.agent_required || agent.error().kind == ErrorKind::cancelled;
  if (fatal) co_return std::move(agent).error();
  co_return Signers();
}

}  // namespace

Result<IdentityChoice> choose_identities(const Json& request, const Target& target) {
  IdentityChoice choice;
  if (!target.identity.empty()) {
    SSHX_TRY(const auto path, expand_home(target.identity));
    choice.file = path.string();
  }
  choice.only = request.value("identities_only", false);
  if (choice.only && choice.file.empty()) {
    return config_error("request_conflict", "--identities-only needs an identity",
                        "give one with --identity FILE, or set the host's");
  }
  const auto named = request.value("identity_agent", std::string());
  choice.agent_required = !named.empty() && named != "none";
  if (choice.agent_required) {
    SSHX_TRY(const auto path, expand_home(named));
    choice.agent_socket = path.string();
  } else if (named.empty()) {
    // Read once at start-up; nothing in this process changes the environment.
    const char* socket = std::getenv("SSH_AUTH_SOCK");  // NOLINT(concurrency-mt-unsafe)
    choice.agent_socket = socket != nullptr ? socket : "";
    choice.agent_unset = choice.agent_socket.empty();
  }
  return choice;
}

PublicIdentity public_identity(const IdentityChoice& choice) {
  if (choice.file.empty())
    return {choice.agent_socket.empty() ? "none" : "agent", std::nullopt, std::nullopt};
  PublicIdentity identity{"file", choice.file, std::nullopt};
  if (const auto key = key_beside(choice.file)) identity.fingerprint = fingerprint(*key);
  return identity;
}

Result<std::shared_ptr<ssh::Signer>> PrivateKeys::load(const std::string& path) {
  const auto known = loaded_.find(path);
  if (known != loaded_.end()) return known->second;
  return loaded_.emplace(path, read_key(path)).first->second;
}

Task<Result<Signers>> open_identities(Runtime runtime, const IdentityChoice& choice,
                                      PrivateKeys& keys, Deadline deadline) {
  SSHX_CO_TRY(auto from_agent, co_await agent_keys(runtime, choice, deadline));
  Signers signers;
  if (!choice.file.empty()) {
    auto configured = configured_key(choice.file, keys, from_agent);
    if (!configured) co_return with_agent_hint(std::move(configured).error(), choice);
    signers.push_back(*std::move(configured));
  }
  if (!choice.only) {
    for (auto& signer : from_agent) append_new(signers, std::move(signer));
  }
  if (choice.file.empty()) append_default_files(signers, keys);
  if (signers.empty()) co_return no_identity(choice);
  co_return signers;
}

}  // namespace sshx::exec
