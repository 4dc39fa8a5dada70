#pragma once

#include <memory>
#include <vector>

#include "ssh/connection.h"
#include "ssh/signer.h"

namespace sshx::ssh {

/// Logs in by public key (RFC 4252 §7), trying `signers` in order. Each is one attempt, RSA keys
/// too (SHA-2 only, RFC 8332). Waits until `deadline`. Sets `observed.auth_method` and `auth_ms`.
/// Returns: auth (`refused`, `too_many_failures`, `agent_refused`, `agent_unavailable`), connect
/// (`timeout`), connection_lost, unsupported (`signature_algorithm`), protocol (`handshake`,
/// `corrupt`), cancelled.
[[nodiscard]] Task<Status> authenticate(Connection& connection,
                                        const std::vector<std::shared_ptr<Signer>>& signers,
                                        Deadline deadline, Observations& observed);

}  // namespace sshx::ssh
