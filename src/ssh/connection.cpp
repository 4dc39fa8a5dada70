#include "ssh/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/text.h"
#include "ssh/resolve.h"
#include "ssh/session_state.h"

namespace sshx::ssh {
namespace {

using Socket = asio::ip::tcp::socket;
using Endpoint = asio::ip::tcp::endpoint;

// chacha20-poly1305 is left out: libssh2 1.11.1 loops for ever on one flipped bit. Certificates are
// stubs there.
constexpr const char* kCiphers =
    "aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr";
constexpr const char* kMacs =
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512";
constexpr const char* kKeyExchanges =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256";
constexpr const char* kSignatures = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-"
                                    "sha2-nistp521,rsa-sha2-512,rsa-sha2-256";
// libssh2 gives up on a reply after 60 s of its own; our deadlines are the ones that count.
constexpr long kLibraryReadTimeoutSeconds = 365L * 24 * 3600;

Error connect_error(std::string code, std::string message, std::string hint) {
  return {ErrorKind::connect, std::move(code), std::move(message), std::move(hint)};
}

std::string endpoint_text(const Endpoint& endpoint) {
  return host_and_port(endpoint.address().to_string(), endpoint.port());
}

Error tcp_error(const Endpoint& endpoint, const asio::error_code& error) {
  const auto where = endpoint_text(endpoint);
  if (error == asio::error::connection_refused) {
    return connect_error("refused", fmt::format("{} refused the connection", where),
                         "check the port, and that the SSH server runs");
  }
  if (error == asio::error::connection_reset) {
    return connect_error("banner_closed", fmt::format("{} reset the connection at once", where),
                         "see the server's log");
  }
  return connect_error("unreachable", fmt::format("cannot reach {}: {}", where, error.message()),
                       "check the address and the network");
}

Error connect_timeout(const std::string& where) {
  return connect_error("timeout",
                       fmt::format("{} did not answer within the connect timeout", where),
                       "check the address and the firewall, or raise --connect-timeout");
}

/// Connects one socket; the wakeup is notified when it is done.
struct TcpAttempt {
  explicit TcpAttempt(asio::io_context& context) : socket(context), wakeup(context) {}
  Socket socket;
  Wakeup wakeup;
  std::optional<asio::error_code> done;
};

Task<Result<Socket>> connect_one(Runtime runtime, Endpoint endpoint, Deadline deadline) {
  auto attempt = std::make_shared<TcpAttempt>(runtime.context);
  const Cancellation::Subscription subscription(runtime.cancellation, attempt->wakeup);
  attempt->socket.async_connect(endpoint, [attempt](asio::error_code error) {
    attempt->done = error;
    attempt->wakeup.notify();
  });
  while (!attempt->done) {
    if (runtime.cancellation.requested()) co_return runtime.cancellation.error();
    if (passed(deadline)) {
      asio::error_code ignored;
      attempt->socket.close(ignored);
      co_return connect_timeout(endpoint_text(endpoint));
    }
    co_await attempt->wakeup.wait_until(deadline);
  }
  if (*attempt->done) co_return tcp_error(endpoint, *attempt->done);
  asio::error_code ignored;
  attempt->socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return std::move(attempt->socket);
}

/// Each address gets an equal share of what is left, so that a dead first one leaves time for the
/// next.
Deadline share(Deadline deadline, std::size_t candidates) {
  const auto now = Clock::now();
  if (candidates <= 1 || deadline <= now) return deadline;
  return now + (deadline - now) / static_cast<long>(candidates);
}

Task<Result<Socket>> connect_any(Runtime runtime, std::vector<Endpoint> endpoints,
                                 Deadline deadline) {
  std::optional<Error> last;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const auto until = share(deadline, endpoints.size() - i);
    auto socket = co_await connect_one(runtime, endpoints[i], until);
    if (socket) co_return std::move(*socket);
    if (socket.error().kind == ErrorKind::cancelled) co_return std::move(socket).error();
    last = std::move(socket).error();
  }
  co_return *last;
}

std::string signature_algorithms(const std::string& key_type) {
  return key_type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : key_type;
}

std::string host_key_offer(const HostKeyPolicy& policy) {
  const auto& supported = supported_host_key_types();
  const auto& preferred = policy.preferred_types;
  const auto is_preferred = [&](const std::string& type) {
    return std::find(preferred.begin(), preferred.end(), type) != preferred.end();
  };
  // Among the preferred ones the default order stands, as in ssh(1).
  std::vector<std::string> ordered = supported;
  const auto rest = std::stable_partition(ordered.begin(), ordered.end(), is_preferred);
  if (policy.preferred_only) ordered.erase(rest, ordered.end());
  for (auto& type : ordered) type = signature_algorithms(type);
  return join(ordered, ",");
}

/// libssh2's callback for SSH_MSG_DISCONNECT (RFC 4253 §11.1).
// NOLINTNEXTLINE(readability-function-size): the parameters are libssh2's.
void note_disconnect(LIBSSH2_SESSION*, int reason, const char* message, int length, const char*,
                     int, void** abstract) {
  const std::string_view words(message, static_cast<std::size_t>(std::max(length, 0)));
  static_cast<SocketIo*>(*abstract)->note_disconnect(reason, words);
}

/// libssh2's callback for SSH_MSG_DEBUG (RFC 4253 §11.3). OpenSSH tells a login's options there:
/// "FILE:LINE: key options: command agent-forwarding ...".
// NOLINTNEXTLINE(readability-function-size): the parameters are libssh2's.
void note_debug(LIBSSH2_SESSION*, int, const char* message, int length, const char*, int,
                void** abstract) {
  const std::string_view words(message, static_cast<std::size_t>(std::max(length, 0)));
  static_cast<SocketIo*>(*abstract)->note_debug(words);
}

Status configure(Connection::State& state, const HostKeyPolicy& policy) {
  state.session.reset(libssh2_session_init_ex(nullptr, nullptr, nullptr, &state.io));
  if (!state.session) return Error{ErrorKind::internal, "memory", "libssh2 made no session", {}};
  auto* session = state.session.get();
  libssh2_session_set_blocking(session, 0);
  libssh2_session_set_read_timeout(session, kLibraryReadTimeoutSeconds);
  // The type that libssh2 gives all callbacks; it casts back by the callback's number.
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_SEND,
                                reinterpret_cast<libssh2_cb_generic*>(&SocketIo::send));
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_RECV,
                                reinterpret_cast<libssh2_cb_generic*>(&SocketIo::receive));
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_DISCONNECT,
                                reinterpret_cast<libssh2_cb_generic*>(&note_disconnect));
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_DEBUG,
                                reinterpret_cast<libssh2_cb_generic*>(&note_debug));
  const auto host_keys = host_key_offer(policy);
  using Method = std::pair<int, const char*>;
  const std::array methods{Method{LIBSSH2_METHOD_KEX, kKeyExchanges},
                           Method{LIBSSH2_METHOD_HOSTKEY, host_keys.c_str()},
                           Method{LIBSSH2_METHOD_CRYPT_CS, kCiphers},
                           Method{LIBSSH2_METHOD_CRYPT_SC, kCiphers},
                           Method{LIBSSH2_METHOD_MAC_CS, kMacs},
                           Method{LIBSSH2_METHOD_MAC_SC, kMacs},
                           Method{LIBSSH2_METHOD_SIGN_ALGO, kSignatures}};
  for (const auto& [method, names] : methods) {
    if (libssh2_session_method_pref(session, method, names) != 0) {
      return Error{ErrorKind::unsupported,
                   "algorithms",
                   fmt::format("this build knows none of the algorithms {}", names),
                   {}};
    }
  }
  return {};
}

bool is_ssh_greeting(std::string_view greeting) {
  return greeting.starts_with("SSH-") || greeting.find("\nSSH-") != std::string_view::npos;
}

std::string_view first_line(std::string_view greeting) {
  return trim(greeting.substr(0, greeting.find('\n')));
}

/// What sshd says instead of its identification to those that it turns away: beyond MaxStartups,
/// and while a penalty lasts (sshd_config(5), PerSourcePenalties).
bool is_turned_away(std::string_view greeting) {
  const auto line = first_line(greeting);
  return line == "Exceeded MaxStartups" || line == "Not allowed at this time";
}

/// The server closed before its identification. Whether that comes as an end or as a reset depends
/// on whether it had read ours.
Error banner_closed_error(const Connection::State& state) {
  const auto said = is_turned_away(state.io.greeting()) ? first_line(state.io.greeting()) : "";
  return connect_error(
      "banner_closed",
      said.empty()
          ? fmt::format("{} closed the connection before it said anything", state.peer_text())
          : fmt::format("{} turned the connection away: {}", state.peer_text(), said),
      "the server may be overloaded (MaxStartups) or refuse this client");
}

Error not_ssh_error(const Connection::State& state) {
  if (is_turned_away(state.io.greeting())) return banner_closed_error(state);
  const auto first = first_line(state.io.greeting());
  return connect_error("not_ssh",
                       fmt::format("{} does not speak SSH; it says \"{}\"", state.peer_text(),
                                   printable(first.substr(0, 80))),
                       "check the port");
}

/// The handshake ended early: what came so far tells a silent server, another protocol and a
/// dropped connection apart.
Error interrupted_handshake(const Connection::State& state, Interruption why) {
  if (why == Interruption::cancelled) return state.runtime.cancellation.error();
  if (!state.io.greeting().empty() && !is_ssh_greeting(state.io.greeting())) {
    return not_ssh_error(state);
  }
  if (why == Interruption::deadline) return connect_timeout(state.peer_text());
  if (state.io.greeting().empty()) return banner_closed_error(state);
  return connect_error(
      "reset", fmt::format("{} closed the connection during the key exchange", state.peer_text()),
      "see the server's log");
}

/// The server said why it left during the key exchange.
Error refused_handshake(const Connection::State& state) {
  const auto& goodbye = *state.io.goodbye();
  const auto message =
      fmt::format("{} ended the key exchange: {}", state.peer_text(), printable(goodbye.words));
  if (goodbye.reason == SSH_DISCONNECT_KEY_EXCHANGE_FAILED)
    return {ErrorKind::protocol, "handshake", message, "see the server's log"};
  return connect_error("reset", message, "see the server's log");
}

Error failed_handshake(Connection::State& state, int code, const std::string& host_keys) {
  if (state.io.goodbye()) return refused_handshake(state);
  if (!is_ssh_greeting(state.io.greeting()) && !state.io.greeting().empty())
    return not_ssh_error(state);
  if (code == LIBSSH2_ERROR_SOCKET_DISCONNECT || code == LIBSSH2_ERROR_SOCKET_RECV) {
    return interrupted_handshake(state, Interruption::lost);
  }
  const auto text = last_error_text(state.session.get());
  if (code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE) {
    return {ErrorKind::protocol, "no_common_algorithm",
            fmt::format("no key exchange with {}: {}", state.peer_text(), text),
            fmt::format("host keys offered: {}; compare with `ssh -vv`", host_keys)};
  }
  return {ErrorKind::protocol,
          "handshake",
          fmt::format("the key exchange with {} failed: {}", state.peer_text(), text),
          {}};
}

Task<Status> exchange_keys(Connection::State& state, const HostKeyPolicy& policy,
                           Deadline deadline) {
  auto step = [&state] {
    return libssh2_session_handshake(state.session.get(), state.socket.native_handle());
  };
  const auto outcome = co_await state.drive(step, deadline);
  if (outcome.interruption != Interruption::none) {
    co_return interrupted_handshake(state, outcome.interruption);
  }
  if (outcome.code != 0) co_return failed_handshake(state, outcome.code, host_key_offer(policy));
  co_return Status();
}

Result<PublicKey> shown_host_key(Connection::State& state) {
  std::size_t length = 0;
  int type = 0;
  const char* blob = libssh2_session_hostkey(state.session.get(), &length, &type);
  if (blob == nullptr)
    return Error{ErrorKind::protocol, "handshake", "the server showed no host key", {}};
  return public_key_from_blob(std::string(blob, length));
}

}  // namespace

const std::vector<std::string>& supported_host_key_types() {
  static const std::vector<std::string> types{"ssh-ed25519", "ecdsa-sha2-nistp256",
                                              "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
                                              "ssh-rsa"};
  return types;
}

Connection::Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Connection::~Connection() {
  if (!state_) return;
  asio::error_code ignored;
  state_->socket.close(ignored);
}

void Connection::watch(LivenessLimits limits) {
  // When a probe is due is ours to say; the library only sends it.
  libssh2_keepalive_config(state_->session.get(), 1, kShortestProbeSeconds);
  state_->liveness.emplace(limits);
  state_->liveness->heard(Clock::now());
}

bool Connection::is_openssh() const {
  const char* banner = libssh2_session_banner_get(state_->session.get());
  return banner != nullptr && std::string_view(banner).find("OpenSSH") != std::string_view::npos;
}

bool Connection::forced_command() const noexcept { return state_->io.forced_command(); }

void Connection::disconnect() {
  libssh2_session_disconnect(state_->session.get(), "done");
  state_->io.flush();
}

Task<Result<Connection>> Connection::open(Runtime runtime, const Destination& destination,
                                          const HostKeyPolicy& policy, Deadline deadline,
                                          Observations& observed) {
  const auto started = Clock::now();
  auto endpoints = co_await resolve(runtime.context, destination.host, destination.port, deadline,
                                    runtime.cancellation);
  observed.resolve_ms = milliseconds_between(started, Clock::now());
  if (!endpoints) co_return std::move(endpoints).error();

  const auto resolved = Clock::now();
  auto socket = co_await connect_any(runtime, std::move(*endpoints), deadline);
  if (!socket) co_return std::move(socket).error();
  asio::error_code ignored;
  observed.peer_address = socket->remote_endpoint(ignored).address().to_string();

  Connection connection(std::make_shared<State>(runtime, destination, std::move(*socket)));
  SSHX_CO_CHECK(configure(connection.state(), policy));
  SSHX_CO_CHECK(co_await exchange_keys(connection.state(), policy, deadline));
  observed.connect_ms = milliseconds_between(resolved, Clock::now());
  SSHX_CO_TRY(observed.host_key, shown_host_key(connection.state()));
  SSHX_CO_CHECK(policy.check(*observed.host_key));
  co_return std::move(connection);
}

}  // namespace sshx::ssh
