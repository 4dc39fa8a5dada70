#pragma once

#include <string>
#include <vector>

#include "exec/identities.h"
#include "exec/selection.h"
#include "exec/target.h"
#include "exec/trust.h"
#include "ssh/connection.h"

namespace sshx::exec {

/// All that a login needs, settled offline.
struct SessionRequest {
  Target target;
  Trust trust;
  IdentityChoice identities;
  double connect_timeout_seconds = 10;
};

/// Trust and identities for each target of `selection`, which `request` made; in its order. The
/// trust is read once, and shared. Reads public files only. Returns: what load_trust and
/// choose_identities return.
[[nodiscard]] Result<std::vector<SessionRequest>> plan_sessions(const Json& request,
                                                                const Selection& selection);

/// The same for a request of one target. Target (within `reach`), trust and identities of a checked
/// request. Reads public files only. Returns: what select_targets and plan_sessions return, config
/// (`not_supported`: it selects several).
[[nodiscard]] Result<SessionRequest> plan_session(const Json& request,
                                                  const inventory::Reach& reach = {});

/// A logged-in connection: keys are opened first, those of `keys` if they are there, so that local
/// faults send no packet; then connect, check of the host's key, login. Waits until `deadline`.
/// `warnings` gets what the caller should hear. Returns: what open_identities,
/// ssh::Connection::open and ssh::authenticate return; host_key.
[[nodiscard]] Task<Result<ssh::Connection>>
open_session(Runtime runtime, const SessionRequest& request, PrivateKeys& keys, Deadline deadline,
             ssh::Observations& observed, std::vector<std::string>& warnings);

/// The contract's `timings` object; what did not happen is null.
[[nodiscard]] Json timings_json(const ssh::Observations& observed);

}  // namespace sshx::exec
