#include "exec/plan.h"

#include <arpa/inet.h>

#include <array>

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
  return {{"kind", kind_of(payload)},      {"sha256", sha256_label(payload.bytes)},
          {"bytes", payload.bytes.size()}, {"interpreter", runner_of(payload)},
          {"cwd", payload.directory},      {"env", payload.environment},
          {"pty", payload.terminal}};
}

/// What the hash is made of: meaning only. No ids, times, names for people, paths or output forms.
Json projection(std::string_view operation, const SessionRequest& session,
                const ActionSummary& action, const Limits& limits) {
  const auto identity = public_identity(session.identities);
  const auto& target = session.target;
  return {{"operation", operation},
          {"semantics_version", kSemanticsVersion},
          {"targets", Json::array({{{"address", target.address},
                                    {"port", target.port},
                                    {"user", target.user},
                                    {"via", Json::array()},
                                    {"identity_kind", identity.kind},
                                    {"identity_fingerprint", or_null(identity.fingerprint)},
                                    {"identities_only", session.identities.only},
                                    {"host_key_policy", to_string(session.trust.strictness)}}})},
          {"trust_snapshot", session.trust.known_hosts.digest()},
          {"payload", payload_projection(action.payload)},
          {"stdin",
           {{"mode", to_string(action.input)},
            {"bytes", action.stdin_bytes},
            {"held", action.stdin_held}}},
          {"second_channel", action.second_channel == SecondChannel::automatic},
          {"limits", limits_json(limits)},
          {"bypass", bypass_json(action.bypass)}};
}

std::vector<Plan::Unresolved> unresolved_parts(const SessionRequest& session,
                                               const ActionSummary& action) {
  std::vector<Plan::Unresolved> parts;
  const auto& target = session.target;
  const auto identity = public_identity(session.identities);
  if (!is_literal_address(target.address)) {
    parts.push_back(
        {"address", target.address + " is a name that DNS resolves when the plan is carried out"});
  }
  if (identity.kind != "file") {
    parts.push_back(
        {"identity",
         "no identity file is configured, so the key depends on the agent and default files"});
  } else if (!identity.fingerprint) {
    parts.push_back(
        {"identity", "there is no readable " + *identity.path + ".pub that says which key it is"});
  }
  if (session.trust.known_hosts.stored_keys(target.address, target.port).empty()) {
    parts.push_back({"host_key", "no key is trusted for this host yet"});
  }
  if (session.trust.strictness != HostKeyStrictness::strict) {
    parts.push_back({"host_key_policy", "the host key check is relaxed"});
  }
  if (action.input == InputMode::inherited) {
    parts.push_back(
        {"stdin", "the command reads the caller's stdin, which is not known beforehand"});
  }
  return parts;
}

Json target_plan(const SessionRequest& session) {
  const auto& target = session.target;
  const auto identity = public_identity(session.identities);
  Json trusted = Json::array();
  for (const auto& key : session.trust.known_hosts.stored_keys(target.address, target.port)) {
    trusted.push_back(fingerprint(key));
  }
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
           {{"trusted", std::move(trusted)}, {"policy", to_string(session.trust.strictness)}}}};
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
  json["command"] = payload.interpreter ? Json(nullptr) : Json(redact(payload.bytes));
  json["script_runner"] = runner_of(payload);
  json["payload_sha256"] = sha256_label(payload.bytes);
  json["payload_bytes"] = payload.bytes.size();
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
          {"max_failures", or_null(limits.max_failures)}};
}

Plan make_plan(std::string_view operation, const SessionRequest& session,
               const ActionSummary& action, const Limits& limits) {
  Plan plan;
  plan.hash = sha256_label(canonical_json(projection(operation, session, action, limits)));
  // A command is opaque: what it changes is not known (design §4).
  plan.risk = Risk::mutation;
  plan.effects = {"unknown"};
  plan.unresolved = unresolved_parts(session, action);
  plan.document = {{"schema_version", "sshx.plan.v1"},
                   {"plan_hash", plan.hash},
                   {"operation", operation},
                   {"semantics_version", kSemanticsVersion},
                   {"targets", Json::array({target_plan(session)})},
                   {"action", action_json(action)},
                   {"limits", limits_json(limits)},
                   {"bypass", bypass_json(action.bypass)},
                   {"trust_snapshot", session.trust.known_hosts.digest()},
                   {"risk", to_string(plan.risk)},
                   {"effects", plan.effects},
                   {"bindable", plan.unresolved.empty()},
                   {"unresolved", unresolved_json(plan)}};
  return plan;
}

}  // namespace sshx::exec
