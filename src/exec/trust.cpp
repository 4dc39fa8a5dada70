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

std::string trust_command(const Target& target) {
  if (target.alias) return fmt::format("sshx host trust {}", shell_quote(*target.alias));
  return fmt::format("sshx host add NAME --address {} && sshx host trust NAME", place_of(target));
}

std::string stored_text(const Trust& trust, const Target& target) {
  std::vector<std::string> stored;
  for (const auto& key : trust.known_hosts.stored_keys(target.address, target.port)) {
    stored.push_back(key.type + " " + fingerprint(key));
  }
  return join(stored, ", ");
}

Error host_key_error(HostKeyVerdict verdict, const Trust& trust, const Target& target,
                     const PublicKey& key) {
  const auto place = place_of(target);
  const auto shown = fmt::format("{} {}", key.type, fingerprint(key));
  Error error{ErrorKind::host_key, std::string(to_string(verdict)), {}, {}};
  switch (verdict) {
  case HostKeyVerdict::ok: break;
  case HostKeyVerdict::unknown:
    error.message = fmt::format("no key is trusted for {}; it showed {}", place, shown);
    error.hint =
        fmt::format("compare the fingerprint with the host's own, then: {}", trust_command(target));
    if (trust.known_hosts.has_authority(target.address, target.port)) {
      error.hint +=
          " (its @cert-authority line cannot be used: this build checks plain host keys only)";
    }
    break;
  case HostKeyVerdict::changed:
    error.message = fmt::format("the key of {} has changed: it showed {}, stored is {}", place,
                                shown, stored_text(trust, target));
    error.hint = fmt::format("someone may be in the middle. If the host was reinstalled, remove "
                             "the old key with: ssh-keygen -R "
                             "{}; then: {}",
                             shell_quote(target.port == inventory::kDefaultPort
                                             ? target.address
                                             : fmt::format("[{}]:{}", target.address, target.port)),
                             trust_command(target));
    break;
  case HostKeyVerdict::revoked:
    error.message = fmt::format("the key of {} is revoked: {}", place, shown);
    error.hint = "do not connect; the line marked @revoked in known_hosts says so";
    break;
  case HostKeyVerdict::other_type:
    error.message = fmt::format("{} showed {}, but only keys of other types are trusted for it: {}",
                                place, shown, stored_text(trust, target));
    error.hint = fmt::format("the server may have lost a key. Compare the fingerprint, then: {}",
                             trust_command(target));
    break;
  }
  return error;
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
