#include "cli/plan_text.h"

#include <fmt/format.h>

#include <map>

#include "core/redact.h"
#include "core/text.h"
#include "core/utf8.h"

namespace sshx::cli {
namespace {

std::string line(std::string_view name, std::string_view value) {
  return fmt::format("{:<12}{}\n", name, printable(value));
}

std::string target_text(const exec::Target& target) {
  const auto place = fmt::format("{}@{}", target.user, host_and_port(target.address, target.port));
  return target.alias ? fmt::format("{} ({})", *target.alias, place) : place;
}

std::string identity_text(const Json& target) {
  const auto& identity = target["identity"];
  if (identity["kind"] != "file")
    return identity["kind"] == "agent" ? "the agent's keys" : "default files";
  auto path = identity["path"].get<std::string>();
  if (identity["fingerprint"].is_null()) return path;
  return fmt::format("{} {}", path, identity["fingerprint"].get<std::string>());
}

std::string trust_text(const Json& target) {
  const auto& trusted = target["host_key"]["trusted"];
  return trusted.empty() ? "no key" : join(trusted.get<std::vector<std::string>>(), ", ");
}

std::string input_text(const exec::ActionSummary& action) {
  switch (action.input) {
  case exec::InputMode::empty: return "empty";
  case exec::InputMode::given: return fmt::format("{} bytes", action.stdin_bytes);
  case exec::InputMode::inherited: return "the caller's";
  }
  return "";
}

std::string payload_text(const exec::Payload& payload) {
  std::string text;
  if (payload.interpreter) {
    text += line("script", fmt::format("{} bytes for {}, {}", payload.bytes.text().size(),
                                       payload.interpreter->text(), payload.bytes.digest()));
  } else {
    text += line("command", redact(payload.bytes.text()));
  }
  if (!payload.directory.empty()) text += line("folder", payload.directory);
  for (const auto& variable : payload.environment) text += line("variable", redact(variable));
  if (payload.terminal) text += line("terminal", "yes; it merges stderr into stdout");
  return text;
}

std::string milliseconds_text(long long milliseconds) {
  constexpr double kMillisecondsPerSecond = 1000;
  return fmt::format("{:g}s", static_cast<double>(milliseconds) / kMillisecondsPerSecond);
}

std::string limits_text(const exec::Limits& limits) {
  auto text = fmt::format("connect {}, command {}", milliseconds_text(limits.connect_timeout_ms),
                          milliseconds_text(limits.timeout_ms));
  if (limits.host_timeout_ms) text += ", host " + milliseconds_text(*limits.host_timeout_ms);
  if (limits.global_timeout_ms) text += ", all " + milliseconds_text(*limits.global_timeout_ms);
  return text;
}

std::string bypass_text(const exec::Bypass& bypass) {
  std::vector<std::string> asked;
  if (bypass.force) asked.emplace_back("force");
  if (bypass.no_safety_check) asked.emplace_back("no safety check");
  return fmt::format("{}: {}", join(asked, ", "), bypass.reason);
}

/// Each target with what proves it and what it is logged in to with.
std::string targets_text(const exec::RunRequest& run) {
  std::string text;
  if (run.sessions.empty()) return line("target", "none");
  // The plan has them in an order of its own.
  std::map<std::string, Json> plans;
  for (const auto& target : run.plan.document["targets"])
    plans.emplace(target["alias"].is_null() ? std::string() : target["alias"].get<std::string>(),
                  target);
  for (const auto& session : run.sessions) {
    const auto& plan = plans.at(session.target.alias.value_or(std::string()));
    text += line("target", target_text(session.target));
    text += line("  identity", identity_text(plan));
    text += line("  host key", trust_text(plan));
  }
  return text;
}

}  // namespace

std::string preview_text(const exec::RunRequest& run) {
  std::string text = "Nothing was run. The plan:\n\n";
  text += targets_text(run);
  text += payload_text(run.action.payload);
  text += line("stdin", input_text(run.action));
  text += line("limits", limits_text(run.limits));
  if (run.action.bypass) text += line("bypass", bypass_text(*run.action.bypass));
  text += line("risk", fmt::format("{} (effects: {})", to_string(run.plan.risk),
                                   join(run.plan.effects, ", ")));
  text += line("bindable", run.plan.unresolved.empty() ? "yes" : "no");
  for (const auto& [what, reason] : run.plan.unresolved)
    text += line("", fmt::format("{}: {}", what, reason));
  text += line("plan hash", run.plan.hash);
  return text;
}

}  // namespace sshx::cli
