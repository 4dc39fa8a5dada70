#include "cli/host_trust_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/hosts_document.h"
#include "cli/table.h"
#include "core/paths.h"
#include "core/text.h"
#include "exec/host_keys.h"
#include "inventory/hosts_file.h"

namespace sshx::cli {
namespace {

using exec::OfferedKey;
using inventory::Host;
using inventory::HostKeyVerdict;

constexpr int kFailed = 255;
constexpr std::string_view kQuestion = "Trust these keys? Type yes to record: ";

/// What the server shows, and what is to be done with it.
struct Offer {
  Host host;
  std::vector<OfferedKey> keys;
};

std::string_view meaning(HostKeyVerdict verdict) noexcept {
  switch (verdict) {
  case HostKeyVerdict::ok: return "trusted already";
  case HostKeyVerdict::unknown: return "new";
  case HostKeyVerdict::other_type: return "new; a key of another type is trusted";
  case HostKeyVerdict::changed: return "DIFFERS from the trusted key of this type";
  case HostKeyVerdict::revoked: return "REVOKED";
  }
  return "";
}

std::string offer_text(const Offer& offer) {
  Table table({"TYPE", "FINGERPRINT", "STATE"});
  for (const auto& [key, verdict] : offer.keys) {
    table.add({key.type, fingerprint(key), std::string(meaning(verdict))});
  }
  return fmt::format("{} ({}) offers:\n{}", offer.host.name,
                     host_and_port(offer.host.address, offer.host.port), table.text());
}

std::string offered_fingerprints(const Offer& offer) {
  std::vector<std::string> texts;
  texts.reserve(offer.keys.size());
  for (const auto& [key, verdict] : offer.keys) texts.push_back(key.type + " " + fingerprint(key));
  return join(texts, ", ");
}

/// A key that speaks against the host stops everything, whatever else was offered.
Status refuse_bad_keys(const Offer& offer) {
  for (const auto& [key, verdict] : offer.keys) {
    if (verdict != HostKeyVerdict::changed && verdict != HostKeyVerdict::revoked) continue;
    const bool revoked = verdict == HostKeyVerdict::revoked;
    const auto place = offer.host.port == inventory::kDefaultPort
                           ? offer.host.address
                           : fmt::format("[{}]:{}", offer.host.address, offer.host.port);
    return Error{
        ErrorKind::host_key, std::string(to_string(verdict)),
        fmt::format("{} shows the {} key {}, which {}", offer.host.name, key.type, fingerprint(key),
                    revoked ? "known_hosts marks as revoked" : "is not the one that is trusted"),
        revoked
            ? "somebody may be using a stolen key; do not connect"
            : fmt::format(
                  "someone may be in the middle. If the host was reinstalled: ssh-keygen -R {}, "
                  "then trust it again",
                  shell_quote(place))};
  }
  return {};
}

Result<std::vector<PublicKey>> key_with(const Offer& offer, const std::string& wanted) {
  for (const auto& [key, verdict] : offer.keys) {
    if (fingerprint(key) != wanted) continue;
    return verdict == HostKeyVerdict::ok ? std::vector<PublicKey>{} : std::vector<PublicKey>{key};
  }
  return Error{ErrorKind::host_key, "fingerprint_mismatch",
               fmt::format("{} offers no key with the fingerprint {}", offer.host.name, wanted),
               fmt::format("it offers {}", offered_fingerprints(offer))};
}

Status confirm(const Offer& offer, const Terminal& terminal) {
  if (!terminal.can_ask()) {
    return config_error(
        "no_terminal", "there is no terminal to confirm the keys at, so nothing is recorded",
        fmt::format("compare the fingerprint with the host's own, then: sshx host trust {} "
                    "--fingerprint SHA256:...",
                    offer.host.name));
  }
  SSHX_TRY(const std::string answer, terminal.ask(kQuestion));
  if (trim(answer) == "yes") return {};
  return Error{
      ErrorKind::cancelled, "declined", "the keys were not confirmed; nothing is recorded", {}};
}

/// The keys to record: those that --fingerprint or the person vouches for.
Result<std::vector<PublicKey>> vouched_keys(const Offer& offer, const Json& request,
                                            const Terminal& terminal) {
  SSHX_CHECK(refuse_bad_keys(offer));
  if (request.contains("fingerprint"))
    return key_with(offer, request["fingerprint"].get<std::string>());
  std::vector<PublicKey> fresh;
  for (const auto& [key, verdict] : offer.keys) {
    if (verdict != HostKeyVerdict::ok) fresh.push_back(key);
  }
  if (!fresh.empty()) {
    SSHX_CHECK(confirm(offer, terminal));
  }
  return fresh;
}

Json keys_json(const Offer& offer, const std::vector<PublicKey>& recorded) {
  Json keys = Json::array();
  for (const auto& [key, verdict] : offer.keys) {
    keys.push_back(key_json(key.type, fingerprint(key), inventory::to_string(verdict)));
    keys.back()["recorded"] = std::ranges::find(recorded, key) != recorded.end();
  }
  return keys;
}

Status show_offer(const Invocation& invocation, const Offer& offer, Terminal& terminal) {
  if (!invocation.presentation.json) return terminal.out(offer_text(offer));
  // stdout is for the document alone, but who is asked must see what about.
  if (terminal.can_ask()) {
    for (const auto& line : split(offer_text(offer), '\n')) {
      if (!line.empty()) terminal.warn(line);
    }
  }
  return {};
}

Result<std::vector<PublicKey>> record(const Invocation& invocation, const exec::Trust& trust,
                                      const Offer& offer, Terminal& terminal) {
  SSHX_CHECK(show_offer(invocation, offer, terminal));
  SSHX_TRY(auto keys, vouched_keys(offer, invocation.request, terminal));
  if (keys.empty()) return keys;
  SSHX_CHECK(
      inventory::append_known_host(trust.user_file, offer.host.address, offer.host.port, keys));
  return keys;
}

/// Asks the host, then judges and records; what was seen and done, and why it stopped, goes into
/// the answer.
void trust_host(const Invocation& invocation, const exec::Trust& trust, HostsAnswer& answer,
                Terminal& terminal) {
  const Json& request = invocation.request;
  auto& entry = answer.hosts.front();
  const auto types = request.value("key_types", std::vector<std::string>());
  auto keys = exec::scan_host_keys(exec::target_of(entry.host), trust, types,
                                   request.at("connect_timeout_seconds").get<double>());
  if (!keys) {
    answer.error = std::move(keys).error();
    return;
  }
  const Offer offer{entry.host, *std::move(keys)};
  entry.keys = keys_json(offer, {});
  auto recorded = record(invocation, trust, offer, terminal);
  if (!recorded) {
    answer.error = std::move(recorded).error();
    return;
  }
  entry.keys = keys_json(offer, *recorded);
  if (invocation.presentation.json) return;
  terminal.note(recorded->empty()
                    ? fmt::format("{} is trusted already; nothing to record", entry.host.name)
                    : fmt::format("recorded {} for {} in {}",
                                  recorded->size() == 1 ? "one key"
                                                        : fmt::format("{} keys", recorded->size()),
                                  entry.host.name, trust.user_file.string()));
}

}  // namespace

Result<int> run_host_trust_command(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_TRY(const auto hosts, inventory::load_hosts(path));
  SSHX_TRY(const Host host, hosts.require(invocation.request.at("name").get<std::string>()));
  SSHX_TRY(const auto trust, exec::load_trust(invocation.request));
  HostsAnswer answer{.operation = "host.trust",
                     .path = path,
                     .hosts = {HostEntry{.host = host}},
                     .warnings = trust.known_hosts.warnings(),
                     .error = std::nullopt};
  trust_host(invocation, trust, answer, terminal);
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(hosts_document(answer)) + "\n"));
  } else {
    for (const auto& warning : answer.warnings) terminal.note(warning);
    if (answer.error) terminal.report(*answer.error);
  }
  return answer.error ? kFailed : 0;
}

}  // namespace sshx::cli
