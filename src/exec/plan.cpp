#include "exec/plan.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/redact.h"
#include "core/sha256.h"

namespace sshx::exec {
namespace {

/// Changes when the same inputs would mean something else.
constexpr int kSemanticsVersion = 1;

bool is_literal_address(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  const auto plain = address.substr(0, address.find('%'));
  return ::inet_pton(AF_INET, plain.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, plain.c_str(), parsed.data()) == 1;
}

std::string_view to_string(InputMode mode) {
  switch (mode) {
  case InputMode::empty: return "empty";
  case InputMode::given: return "given";
  case InputMode::inherited: return "inherited";
  }
  return "";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view kind_of(const Payload& payload) {
  return payload.interpreter ? "script" : "command";
}

Json runner_of(const Payload& payload) {
  return payload.interpreter ? Json(payload.interpreter->text()) : Json(nullptr);
}

Json payload_projection(const Payload& payload) {
  return {{"kind", kind_of(payload)},
          {"sha256", payload.bytes.digest()},
          {"bytes", payload.bytes.text().size()},
          {"interpreter", runner_of(payload)},
          {"cwd", payload.directory},
          {"env", payload.environment},
          {"pty", payload.terminal}};
}

/// One target, and what is known of it offline.
struct PlannedTarget {
  const SessionRequest* session;
  PublicIdentity identity;
  std::vector<PublicKey> trusted;
};

std::vector<PlannedTarget> planned_targets(std::span<const SessionRequest> sessions) {
  // Hosts share few key files.
  std::map<std::string, PublicIdentity> identities;
  std::vector<PlannedTarget> targets;
  targets.reserve(sessions.size());
  for (const auto& session : sessions) {
    const auto& choice = session.identities;
    auto known = identities.find(choice.file);
    if (choice.file.empty() || known == identities.end())
      known = identities.insert_or_assign(choice.file, public_identity(choice)).first;
    const auto& target = session.target;
    targets.push_back({&session, known->second,
                       session.trust.known_hosts.stored_keys(target.address, target.port)});
  }
  return targets;
}

/// The trust that all sessions share. Where there are none, nothing is trusted.
std::string trust_snapshot(std::span<const SessionRequest> sessions) {
  return sessions.empty() ? inventory::KnownHosts().digest()
                          : sessions.front().trust.known_hosts.digest();
}

Json target_projection(const PlannedTarget& planned) {
  const auto& session = *planned.session;
  return {{"address", session.target.address},
          {"port", session.target.port},
          {"user", session.target.user},
          {"via", Json::array()},
          {"identity_kind", planned.identity.kind},
          {"identity_fingerprint", or_null(planned.identity.fingerprint)},
          {"identities_only", session.identities.only},
          {"host_key_policy", to_string(session.trust.strictness)}};
}

/// In an order that does not depend on the targets' names, which mean nothing.
Json targets_projection(const std::vector<PlannedTarget>& targets) {
  std::vector<std::pair<std::string, Json>> sorted;
  sorted.reserve(targets.size());
  for (const auto& target : targets) {
    auto projected = target_projection(target);
    auto text = canonical_json(projected);
    sorted.emplace_back(std::move(text), std::move(projected));
  }
  std::ranges::sort(sorted, {}, &std::pair<std::string, Json>::first);
  Json list = Json::array();
  for (auto& [text, projected] : sorted) list.push_back(std::move(projected));
  return list;
}

Json limits_projection(const Limits& limits) {
  Json json = limits_json(limits);
  if (!limits.concurrency) json.erase("concurrency");
  if (!limits.per_address) json.erase("per_address");
  return json;
}

/// What the hash is made of: meaning only. No ids, times, names for people, paths or output forms.
Json projection(std::string_view operation, const std::vector<PlannedTarget>& targets,
                const std::string& trust, const ActionSummary& action, const Limits& limits) {
  return {{"operation", operation},
          {"semantics_version", kSemanticsVersion},
          {"targets", targets_projection(targets)},
          {"trust_snapshot", trust},
          {"payload", payload_projection(action.payload)},
          {"stdin",
           {{"mode", to_string(action.input)},
            {"bytes", action.stdin_bytes},
            {"held", action.stdin_held}}},
          {"second_channel", action.second_channel == SecondChannel::automatic},
          {"limits", limits_projection(limits)},
          {"bypass", bypass_json(action.bypass)}};
}

using UnresolvedParts = std::vector<Plan::Unresolved>;

/// What is not known of one target; `place` stands before each reason.
void add_unresolved(const PlannedTarget& planned, const std::string& place,
                    UnresolvedParts& parts) {
  const auto& target = planned.session->target;
  const auto& identity = planned.identity;
  if (!is_literal_address(target.address)) {
    parts.push_back({"address", place + target.address +
                                    " is a name that DNS resolves when the plan is carried out"});
  }
  if (identity.kind != "file") {
    parts.push_back(
        {"identity", place + "no identity file is configured, so the key depends on the agent and "
                             "default files"});
  } else if (!identity.fingerprint) {
    parts.push_back({"identity", place + "there is no readable " + *identity.path +
                                     ".pub that says which key it is"});
  }
  if (planned.trusted.empty())
    parts.push_back({"host_key", place + "no key is trusted for this host yet"});
}

UnresolvedParts unresolved_parts(const std::vector<PlannedTarget>& targets,
                                 const ActionSummary& action) {
  UnresolvedParts parts;
  for (const auto& planned : targets) {
    const auto& target = planned.session->target;
    const auto place = targets.size() == 1 ? std::string() : target.name() + ": ";
    add_unresolved(planned, place, parts);
  }
  // The check is as strict for all of them.
  if (!targets.empty() && targets.front().session->trust.strictness != HostKeyStrictness::strict) {
    parts.push_back({"host_key_policy", "the host key check is relaxed"});
  }
  if (action.input == InputMode::inherited) {
    parts.push_back(
        {"stdin", "the command reads the caller's stdin, which is not known beforehand"});
  }
  return parts;
}

Json target_plan(const PlannedTarget& planned) {
  const auto& target = planned.session->target;
  const auto& identity = planned.identity;
  Json trusted = Json::array();
  for (const auto& key : planned.trusted) trusted.push_back(fingerprint(key));
  return {{"alias", or_null(target.alias)},
          {"address", target.address},
          {"port", target.port},
          {"user", target.user},
          {"via", Json::array()},
          {"identity",
           {{"kind", identity.kind},
            {"path", or_null(identity.path)},
            {"fingerprint", or_null(identity.fingerprint)}}},
          {"host_key",
           {{"trusted", std::move(trusted)},
            {"policy", to_string(planned.session->trust.strictness)}}}};
}

Json target_plans(const std::vector<PlannedTarget>& targets) {
  Json list = Json::array();
  for (const auto& planned : targets) list.push_back(target_plan(planned));
  return list;
}

Json unresolved_json(const Plan& plan) {
  Json list = Json::array();
  for (const auto& [what, reason] : plan.unresolved)
    list.push_back({{"what", what}, {"reason", reason}});
  return list;
}

}  // namespace

std::string_view to_string(Intent intent) noexcept {
  switch (intent) {
  case Intent::read: return "read";
  case Intent::change: return "change";
  case Intent::unknown: return "unknown";
  }
  return "";
}

std::string_view to_string(Risk risk) noexcept {
  switch (risk) {
  case Risk::read: return "read";
  case Risk::mutation: return "mutation";
  case Risk::privileged: return "privileged";
  case Risk::destructive: return "destructive";
  }
  return "";
}

Json action_json(const ActionSummary& action) {
  const auto& payload = action.payload;
  Json json = Json::object();
  json["kind"] = kind_of(payload);
  json["intent"] = to_string(action.intent);
  json["command"] = payload.interpreter ? Json(nullptr) : Json(redact(payload.bytes.text()));
  json["script_runner"] = runner_of(payload);
  json["payload_sha256"] = payload.bytes.digest();
  json["payload_bytes"] = payload.bytes.text().size();
  json["stdin_bytes"] =
      action.input == InputMode::inherited ? Json(nullptr) : Json(action.stdin_bytes);
  json["uses_sudo"] = false;
  json["cwd"] = payload.directory.empty() ? Json(nullptr) : Json(payload.directory);
  json["env"] = Json::array();
  for (const auto& variable : payload.environment) json["env"].push_back(redact(variable));
  json["pty"] = payload.terminal;
  return json;
}

Json limits_json(const Limits& limits) {
  return {{"connect_timeout_ms", limits.connect_timeout_ms},
          {"timeout_ms", limits.timeout_ms},
          {"max_output_bytes", limits.max_output_bytes},
          {"server_alive_interval_ms", limits.server_alive_interval_ms},
          {"server_alive_count_max", limits.server_alive_count_max},
          {"host_timeout_ms", or_null(limits.host_timeout_ms)},
          {"global_timeout_ms", or_null(limits.global_timeout_ms)},
          {"fail_fast", limits.fail_fast},
          {"max_failures", or_null(limits.max_failures)},
          {"concurrency", or_null(limits.concurrency)},
          {"per_address", or_null(limits.per_address)}};
}

Plan make_plan(std::string_view operation, std::span<const SessionRequest> sessions,
               const ActionSummary& action, const Limits& limits) {
  const auto targets = planned_targets(sessions);
  const auto trust = trust_snapshot(sessions);
  Plan plan;
  plan.hash = sha256_label(canonical_json(projection(operation, targets, trust, action, limits)));
  // A command is opaque: what it changes is not known (design §4).
  plan.risk = Risk::mutation;
  plan.effects = {"unknown"};
  plan.unresolved = unresolved_parts(targets, action);
  plan.document = {{"schema_version", "sshx.plan.v1"},
                   {"plan_hash", plan.hash},
                   {"operation", operation},
                   {"semantics_version", kSemanticsVersion},
                   {"targets", target_plans(targets)},
                   {"action", action_json(action)},
                   {"limits", limits_json(limits)},
                   {"bypass", bypass_json(action.bypass)},
                   {"trust_snapshot", trust},
                   {"risk", to_string(plan.risk)},
                   {"effects", plan.effects},
                   {"bindable", plan.unresolved.empty()},
                   {"unresolved", unresolved_json(plan)}};
  return plan;
}

}  // namespace sshx::exec
