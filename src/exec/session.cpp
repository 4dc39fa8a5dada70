#include "exec/session.h"

#include <map>
#include <utility>

#include "ssh/authentication.h"

namespace sshx::exec {

Result<std::vector<SessionRequest>> plan_sessions(const Json& request, const Selection& selection) {
  SSHX_TRY(const auto trust, load_trust(request));
  const auto connect_timeout =
      request.value("connect_timeout_seconds", SessionRequest().connect_timeout_seconds);
  // Hosts share few key files, and to expand a name asks the system.
  std::map<std::string, IdentityChoice> choices;
  std::vector<SessionRequest> sessions;
  sessions.reserve(selection.targets.size());
  for (const auto& target : selection.targets) {
    auto choice = choices.find(target.identity);
    if (choice == choices.end()) {
      SSHX_TRY(auto made, choose_identities(request, target));
      choice = choices.emplace(target.identity, std::move(made)).first;
    }
    sessions.push_back({target, trust, choice->second, connect_timeout});
  }
  return sessions;
}

Result<SessionRequest> plan_session(const Json& request, const inventory::Reach& reach) {
  SSHX_TRY(const auto selection, select_targets(request, reach));
  if (!selection.is_single) {
    return config_error("not_supported", "more than one target can be selected by this request",
                        "this version runs on one target a call: give one --target, and no other "
                        "selector");
  }
  SSHX_TRY(auto sessions, plan_sessions(request, selection));
  return std::move(sessions.front());
}

Task<Result<ssh::Connection>> open_session(Runtime runtime, const SessionRequest& request,
                                           PrivateKeys& keys, Deadline deadline,
                                           ssh::Observations& observed,
                                           std::vector<std::string>& warnings) {
  SSHX_CO_TRY(const auto signers,
              co_await open_identities(runtime, request.identities, keys, deadline));
  const auto& target = request.target;
  const ssh::Destination destination{target.address, target.port, target.user};
  const auto policy = host_key_policy(request.trust, target, warnings);
  SSHX_CO_TRY(auto connection,
              co_await ssh::Connection::open(runtime, destination, policy, deadline, observed));
  SSHX_CO_CHECK(co_await ssh::authenticate(connection, signers, deadline, observed));
  co_return std::move(connection);
}

Json timings_json(const ssh::Observations& observed) {
  const auto optional = [](const std::optional<long long>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json timings = Json::object();
  timings["resolve_ms"] = optional(observed.resolve_ms);
  timings["connect_ms"] = optional(observed.connect_ms);
  timings["auth_ms"] = optional(observed.auth_ms);
  timings["exec_ms"] = optional(observed.exec_ms);
  return timings;
}

}  // namespace sshx::exec
