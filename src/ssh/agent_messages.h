#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/public_key.h"

namespace sshx::ssh {

/// A key that an agent holds.
struct AgentKey {
  PublicKey public_key;
  std::string comment;
};

/// SSH_AGENTC_REQUEST_IDENTITIES (draft-ietf-sshm-ssh-agent §4.4), without its length.
[[nodiscard]] std::string identities_request();
/// The keys of a type that this build can log in with, in the agent's order; nothing when `answer`
/// is no SSH_AGENT_IDENTITIES_ANSWER.
[[nodiscard]] std::optional<std::vector<AgentKey>> parse_identities_answer(std::string_view answer);

/// SSH_AGENTC_SIGN_REQUEST (§4.5), without its length.
[[nodiscard]] std::string sign_request(std::string_view blob, std::string_view bytes,
                                       unsigned flags);
/// The signature, a view of `answer`; nothing when that is no SSH_AGENT_SIGN_RESPONSE.
[[nodiscard]] std::optional<std::string_view> parse_sign_answer(std::string_view answer);

}  // namespace sshx::ssh
