#include "exec/session.h"

#include "ssh/authentication.h"

namespace sshx::exec {

Result<SessionRequest> plan_session(const Json& request, const inventory::Reach& reach) {
  SessionRequest session;
  SSHX_TRY(session.target, resolve_target(request, reach));
  SSHX_TRY(session.trust, load_trust(request));
  SSHX_TRY(session.identities, choose_identities(request, session.target));
  session.connect_timeout_seconds =
      request.value("connect_timeout_seconds", session.connect_timeout_seconds);
  return session;
}

Task<Result<ssh::Connection>> open_session(Runtime runtime, const SessionRequest& request,
                                           Deadline deadline, ssh::Observations& observed,
                                           std::vector<std::string>& warnings) {
  SSHX_CO_TRY(const auto signers, co_await open_identities(runtime, request.identities, deadline));
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
