#pragma once

#include <optional>
#include <vector>

#include "core/json.h"
#include "exec/session.h"

namespace sshx::exec {

/// What trying to reach one host showed.
struct HostTestResult {
  std::optional<Error> error;
  ssh::Observations observed;
  long long duration_ms = 0;
  std::vector<std::string> warnings;
};

/// Everything that a run needs except running something: connect, host key, login, a channel. Waits
/// within the session's connect timeout. SIGINT, SIGTERM and SIGHUP cancel. Failures are in the
/// result: auth, connect, host_key, protocol, connection_lost, cancelled.
[[nodiscard]] HostTestResult test_host(const SessionRequest& request);

/// The contract's `test` object of sshx.hosts.v1.
[[nodiscard]] Json host_test_json(const HostTestResult& result);

}  // namespace sshx::exec
