#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/public_key.h"
#include "loop/loop.h"
#include "ssh/liveness.h"

namespace sshx::ssh {

struct Destination {
  std::string host;
  std::uint16_t port = 22;
  std::string user;
};

/// How the host's key is asked for and judged. Both come from the caller: this room knows no
/// known_hosts.
struct HostKeyPolicy {
  /// Key types to ask for first ("ssh-ed25519", "ssh-rsa", ...); all others that this build can
  /// verify follow.
  std::vector<std::string> preferred_types;
  /// Whether nothing but `preferred_types` is offered, to ask a server for its key of one type.
  bool preferred_only = false;
  /// Called once, before any authentication byte; its error ends the connection.
  std::function<Status(const PublicKey&)> check;
};

/// What was seen on the way, filled in as it happens, so that a failure can still say it. Durations
/// in milliseconds.
struct Observations {
  std::optional<long long> resolve_ms;
  std::optional<long long> connect_ms;
  std::optional<long long> auth_ms;
  std::optional<long long> exec_ms;
  std::string peer_address;
  std::optional<PublicKey> host_key;
  std::string auth_method;
};

/// One SSH session over TCP whose host key was accepted. Dropping it closes the socket at once.
class Connection {
 public:
  /// Resolves, connects (each address in turn), exchanges keys (RFC 4253) and has the host key
  /// checked. Waits until `deadline`. Returns: connect (`dns`, `refused`, `unreachable`, `timeout`,
  /// `not_ssh`, `banner_closed`, `reset`), protocol (`no_common_algorithm`, `handshake`), whatever
  /// `policy.check` returns, cancelled.
  [[nodiscard]] static Task<Result<Connection>> open(Runtime runtime,
                                                     const Destination& destination,
                                                     const HostKeyPolicy& policy, Deadline deadline,
                                                     Observations& observed);

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Logged in: from now on a silent peer is asked whether it is there, and given up after
  /// `limits`.
  void watch(LivenessLimits limits);
  /// Whether the server announced that it runs a command of its own whatever is asked for (an
  /// authorized_keys or certificate option). OpenSSH says so in SSH_MSG_DEBUG (RFC 4253 §11.3);
  /// a ForceCommand in sshd_config it does not announce.
  [[nodiscard]] bool forced_command() const noexcept;

  /// Whether the server says that it is OpenSSH (its identification, RFC 4253 §4.2).
  [[nodiscard]] bool is_openssh() const;

  /// Says goodbye (RFC 4253 §11.1) if the socket takes it at once, then closes.
  void disconnect();

  /// The parts that the other files of this room work on.
  struct State;
  [[nodiscard]] State& state() noexcept { return *state_; }

 private:
  explicit Connection(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// The host-key types that this build can verify, in default order of preference.
[[nodiscard]] const std::vector<std::string>& supported_host_key_types();

}  // namespace sshx::ssh
