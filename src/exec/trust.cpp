#include "exec/trust.h"

#include <fmt/format.h>

#include "core/paths.h"
#include "core/shell_quote.h"
#include "core/text.h"

namespace sshx::exec {
namespace {

using inventory::HostKeyVerdict;

Result<HostKeyStrictness> strictness_of(const Json& request) {
  const bool accept = request.value("accept_unknown_host", false);
  const bool insecure = request.value("insecure_hostkey", false);
  if (accept && insecure) {
    return config_error("request_conflict", "two ways to relax the host key check are given",
                        "use at most one of --accept-unknown-host and --insecure-hostkey");
  }
  if (insecure) return HostKeyStrictness::insecure;
  return accept ? HostKeyStrictness::accept_unknown : HostKeyStrictness::strict;
}

std::string place_of(const Target& target) { return host_and_port(target.address, target.port); }

/// The known_hosts file that the caller named, quoted for a shell; empty for the usual one.
std::string named_file(const Trust& trust) {
  const auto usual = user_known_hosts_path();
  if (usual && *usual == trust.user_file) return {};
  return shell_quote(trust.user_file.string());
}

std::string trust_command(const Trust& trust, const Target& target) {
  const auto file = named_file(trust);
  const auto option = file.empty() ? file : " --known-hosts " + file;
  if (target.alias) return fmt::format("sshx host trust {}{}", shell_quote(*target.alias), option);
  return fmt::format("sshx host add NAME --address {} && sshx host trust NAME{}", place_of(target),
                     option);
}

std::string stored_text(const Trust& trust, const Target& target) {
  std::vector<std::string> stored;
  for (const auto& key : trust.known_hosts.stored_keys(target.address, target.port)) {
    stored.push_back(key.type + " " + fingerprint(key));
  }
  return join(stored, ", ");
}

/// The ssh-keygen call that takes the old key out of the file in use.
std::string removal_command(const Trust& trust, const Target& target) {
  const bool plain = target.port == inventory::kDefaultPort;
  const auto name = plain ? target.address : fmt::format("[{}]:{}", target.address, target.port);
  const auto file = named_file(trust);
  return fmt::format("ssh-keygen -R {}{}", shell_quote(name), file.empty() ? file : " -f " + file);
}

std::string what_failed(HostKeyVerdict verdict, const Trust& trust, const Target& target,
                        const PublicKey& key) {
  const auto place = place_of(target);
  const auto shown = fmt::format("{} {}", key.type, fingerprint(key));
  switch (verdict) {
  case HostKeyVerdict::ok: return {};
  case HostKeyVerdict::unknown:
    return fmt::format("no key is trusted for {}; it showed {}", place, shown);
  case HostKeyVerdict::changed:
    return fmt::format("the key of {} has changed: it showed {}, stored is {}", place, shown,
                       stored_text(trust, target));
  case HostKeyVerdict::revoked: return fmt::format("the key of {} is revoked: {}", place, shown);
  case HostKeyVerdict::other_type:
    return fmt::format("{} showed {}, but only keys of other types are trusted for it: {}", place,
                       shown, stored_text(trust, target));
  }
  return {};
}

std::string what_to_do(HostKeyVerdict verdict, const Trust& trust, const Target& target) {
  const auto trust_it = trust_command(trust, target);
  switch (verdict) {
  case HostKeyVerdict::ok: return {};
  case HostKeyVerdict::unknown:
    return fmt::format("compare the fingerprint with the host's own, then: {}{}", trust_it,
                       trust.known_hosts.has_authority(target.address, target.port)
                           ? " (its @cert-authority line cannot be used: this build checks plain "
                             "host keys only)"
                           : "");
  case HostKeyVerdict::changed:
    return fmt::format("someone may be in the middle. If the host was reinstalled, remove the old "
                       "key with: {}; then: {}",
                       removal_command(trust, target), trust_it);
  case HostKeyVerdict::revoked:
    return "do not connect; the line marked @revoked in known_hosts says so";
  case HostKeyVerdict::other_type:
    return fmt::format("the server may have lost a key. Compare the fingerprint, then: {}",
                       trust_it);
  }
  return {};
}

Error host_key_error(HostKeyVerdict verdict, const Trust& trust, const Target& target,
                     const PublicKey& key) {
  return {ErrorKind::host_key, std::string(to_string(verdict)),
          what_failed(verdict, trust, target, key), what_to_do(verdict, trust, target)};
}

bool passes(HostKeyVerdict verdict, HostKeyStrictness strictness) {
  if (verdict == HostKeyVerdict::ok) return true;
  if (verdict == HostKeyVerdict::revoked) return false;
  if (strictness == HostKeyStrictness::insecure) return true;
  return strictness == HostKeyStrictness::accept_unknown && verdict == HostKeyVerdict::unknown;
}

Status judge(const Trust& trust, const Target& target, const PublicKey& key,
             std::vector<std::string>& warnings) {
  const auto verdict = trust.known_hosts.verdict(target.address, target.port, key);
  if (!passes(verdict, trust.strictness)) return host_key_error(verdict, trust, target, key);
  if (verdict != HostKeyVerdict::ok) {
    warnings.push_back(fmt::format("host key of {} accepted without trust ({}): {} {}",
                                   place_of(target), to_string(verdict), key.type,
                                   fingerprint(key)));
  }
  return {};
}

}  // namespace

std::string_view to_string(HostKeyStrictness strictness) noexcept {
  switch (strictness) {
  case HostKeyStrictness::strict: return "strict";
  case HostKeyStrictness::accept_unknown: return "accept_unknown";
  case HostKeyStrictness::insecure: return "insecure";
  }
  return "";
}

Result<Trust> load_trust(const Json& request) {
  Trust trust;
  SSHX_TRY(trust.strictness, strictness_of(request));
  std::vector<std::filesystem::path> files;
  if (const auto file = request.find("known_hosts"); file != request.end()) {
    SSHX_TRY(trust.user_file, expand_home(file->get<std::string>()));
    files = {trust.user_file};
  } else {
    SSHX_TRY(trust.user_file, user_known_hosts_path());
    files = {trust.user_file, global_known_hosts_path()};
  }
  SSHX_TRY(trust.known_hosts, inventory::KnownHosts::load(files));
  return trust;
}

ssh::HostKeyPolicy host_key_policy(const Trust& trust, const Target& target,
                                   std::vector<std::string>& warnings) {
  ssh::HostKeyPolicy policy;
  policy.preferred_types = trust.known_hosts.stored_types(target.address, target.port);
  policy.check = [&trust, &target, &warnings](const PublicKey& key) {
    return judge(trust, target, key, warnings);
  };
  return policy;
}

}  // namespace sshx::exec
