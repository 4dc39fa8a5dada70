#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ssh/agent_messages.h"
#include "ssh/signer.h"

namespace sshx::ssh {

/// The keys of an authentication agent (draft-ietf-sshm-ssh-agent), over its Unix socket. Ours,
/// since libssh2's client blocks, and fails with certificates and security keys.
class Agent : public std::enable_shared_from_this<Agent> {
 public:
  /// Connects to `socket_path` and asks for the keys; those of a type that this build cannot log in
  /// with are skipped. Waits until `deadline`. Returns: auth (`agent_unavailable`), cancelled.
  [[nodiscard]] static Task<Result<std::shared_ptr<Agent>>> open(asio::io_context& context,
                                                                 std::string socket_path,
                                                                 Deadline deadline,
                                                                 Cancellation& cancellation);

  /// A signer for each key, in the agent's order. They keep the agent.
  [[nodiscard]] std::vector<std::shared_ptr<Signer>> signers();

  /// The signature by the key whose wire form is `blob`. `flags`: 2 for rsa-sha2-256, 4 for
  /// rsa-sha2-512 (§5.3). Waits for the agent, which may ask a person, until the deadline that
  /// `open` was given. Returns: auth
  /// (`agent_refused`, `agent_unavailable`), cancelled.
  [[nodiscard]] Task<Result<std::string>> sign(std::string blob, std::string data, unsigned flags);

  Agent(asio::io_context& context, std::string socket_path, Deadline deadline,
        Cancellation& cancellation);

 private:
  Task<Status> connect();
  Task<Status> list();
  Task<Result<std::string>> exchange(std::string request);
  Task<Result<std::string>> read_exactly(std::size_t count);
  Task<Status> write_fully(std::string bytes);
  Task<Status> wait(asio::local::stream_protocol::socket::wait_type direction);
  [[nodiscard]] Error unavailable(const std::string& why) const;

  std::string path_;
  Deadline deadline_;
  Cancellation& cancellation_;
  asio::local::stream_protocol::socket socket_;
  std::shared_ptr<Wakeup> wakeup_;
  std::vector<AgentKey> keys_;
};

}  // namespace sshx::ssh
