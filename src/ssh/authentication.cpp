#include "ssh/authentication.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/text.h"
#include "core/wire.h"
#include "ssh/session_state.h"

namespace sshx::ssh {
namespace {

/// One publickey attempt. libssh2 asks for the signature in the middle of a call; we say EAGAIN
/// there, get it outside (an agent may take its time), and hand it over when libssh2 asks again.
struct Attempt {
  std::string wanted;     ///< What libssh2 asked to have signed.
  std::string signature;  ///< The raw signature that answers it.
};

/// libssh2's signing callback. Allocates with malloc, as the session's default free expects.
int sign_callback(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* length,
                  const unsigned char* data, std::size_t data_length, void** abstract) {
  auto& attempt = *static_cast<Attempt*>(*abstract);
  if (attempt.signature.empty()) {
    attempt.wanted.assign(reinterpret_cast<const char*>(data), data_length);
    return LIBSSH2_ERROR_EAGAIN;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): libssh2 frees it with its default, free().
  *signature = static_cast<unsigned char*>(std::malloc(attempt.signature.size()));
  if (*signature == nullptr) return LIBSSH2_ERROR_ALLOC;
  std::memcpy(*signature, attempt.signature.data(), attempt.signature.size());
  *length = attempt.signature.size();
  return 0;
}

/// The algorithm named in the data to sign (RFC 4252 §7: session id, byte 50, user, service,
/// "publickey", TRUE, algorithm).
std::optional<std::string> algorithm_of(std::string_view data) {
  WireReader reader(data);
  const bool head = reader.string() && reader.byte() && reader.string() && reader.string() &&
                    reader.string() && reader.byte();
  const auto algorithm = head ? reader.string() : std::nullopt;
  if (!algorithm) return std::nullopt;
  return std::string(*algorithm);
}

/// libssh2 writes the algorithm's name itself and wants the inner signature alone.
std::optional<std::string> inner_signature(std::string_view wire, std::string_view algorithm) {
  WireReader reader(wire);
  const auto name = reader.string();
  const auto value = reader.string();
  if (!value || name != algorithm) return std::nullopt;
  return std::string(*value);
}

/// Signatures over SHA-1 can be forged with money; ssh(1) refuses them too.
Error sha1_only(const Signer& signer) {
  return {
      ErrorKind::unsupported, "signature_algorithm",
      fmt::format("the server takes {} with ssh-rsa (SHA-1) signatures only", signer.description()),
      "allow rsa-sha2-512 on the server, or use an Ed25519 key", Phase::authenticate};
}

Task<Status> answer_signature(Attempt& attempt, Signer& signer) {
  const auto algorithm = algorithm_of(attempt.wanted);
  if (algorithm == "ssh-rsa") co_return sha1_only(signer);
  if (!algorithm)
    co_return Error{ErrorKind::internal, "signature", "libssh2 asked for an odd signature", {}};
  SSHX_CO_TRY(const auto wire, co_await signer.sign(attempt.wanted, *algorithm));
  auto value = inner_signature(wire, *algorithm);
  if (!value) {
    co_return Error{
        ErrorKind::unsupported, "signature_algorithm",
        fmt::format("{} signed with another algorithm than {}", signer.description(), *algorithm),
        "use an agent that knows RSA with SHA-2, or an Ed25519 key", Phase::authenticate};
  }
  attempt.signature = std::move(*value);
  attempt.wanted.clear();
  co_return Status();
}

Error at_login(Error error) {
  error.at = Phase::authenticate;
  return error;
}

Error interrupted(const Connection::State& state, Interruption why) {
  if (why == Interruption::cancelled) return state.runtime.cancellation.error();
  if (why == Interruption::lost) return at_login(state.lost_error());
  return {ErrorKind::connect, "timeout",
          fmt::format("logging in on {} took longer than the connect timeout", state.peer_text()),
          "raise --connect-timeout", Phase::authenticate};
}

/// libssh2's code for one attempt with `signer`, or why it could not be made.
Task<Result<int>> attempt_key(Connection::State& state, Signer& signer, Deadline deadline) {
  Attempt attempt;
  void* abstract = &attempt;
  const auto& blob = signer.public_key().blob;
  const auto step = [&] {
    const int code = libssh2_userauth_publickey(state.session.get(), state.destination.user.c_str(),
                                                reinterpret_cast<const unsigned char*>(blob.data()),
                                                blob.size(), &sign_callback, &abstract);
    // Not a wait for the peer, then: the signature is wanted first.
    return code == LIBSSH2_ERROR_EAGAIN && !attempt.wanted.empty() ? LIBSSH2_ERROR_NONE : code;
  };
  for (;;) {
    const auto outcome = co_await state.drive(step, deadline);
    if (outcome.interruption != Interruption::none)
      co_return interrupted(state, outcome.interruption);
    if (attempt.wanted.empty()) co_return outcome.code;
    SSHX_CO_CHECK(co_await answer_signature(attempt, signer));
  }
}

/// Whether the next attempt leaves out the question whether the server would take the key. For the
/// first key only, as later ones are guesses. An RSA key is asked about: servers that do not say
/// which signatures they take get SHA-1 from libssh2, which is an error of ours.
void sign_at_once([[maybe_unused]] LIBSSH2_SESSION* session, [[maybe_unused]] bool first,
                  [[maybe_unused]] const Signer& signer) {
#ifdef LIBSSH2_FLAG_SIGN_AT_ONCE
  const bool at_once = first && signer.signs_silently() && signer.public_key().type != "ssh-rsa";
  libssh2_session_flag(session, LIBSSH2_FLAG_SIGN_AT_ONCE, at_once ? 1 : 0);
#endif
}

/// Whether an answer came that could not be read. libssh2 gives it a refused key's code; only its
/// words tell the two apart.
bool unreadable(const Connection::State& state, int code) {
  return code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED &&
         last_error_text(state.session.get()).find("Waiting for") != std::string::npos;
}

bool refused(const Connection::State& state, int code) {
  return code == LIBSSH2_ERROR_AUTHENTICATION_FAILED ||
         (code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED && !unreadable(state, code));
}

Error refusal(const Connection::State& state, const std::vector<std::string>& offered) {
  return {ErrorKind::auth, "refused",
          fmt::format("{} accepted none of {} key(s) for user {}: {}", state.peer_text(),
                      offered.size(), printable(state.destination.user), join(offered, ", ")),
          "put the public key into ~/.ssh/authorized_keys on the host, or choose another with "
          "--identity"};
}

Error disconnected(const Connection::State& state, const std::vector<std::string>& offered) {
  return {ErrorKind::auth, "too_many_failures",
          fmt::format("{} closed the connection after {} key(s) were offered", state.peer_text(),
                      offered.size()),
          "offer the right key alone: --identity FILE --identities-only"};
}

/// Whether a server that closed the connection was tired of keys: OpenSSH says so in words
/// (MaxAuthTries), others only leave after several.
bool lost_patience(const Connection::State& state, const std::vector<std::string>& offered) {
  const auto& goodbye = state.io.goodbye();
  const bool said = goodbye && goodbye->words.find("uthentication failures") != std::string::npos;
  return said || offered.size() > 1;
}

/// What ended the attempt with the last of `offered`: the server's patience, the connection, or
/// libssh2 itself.
Error failed(Connection::State& state, int code, const std::vector<std::string>& offered) {
  if (state.io.goodbye() && lost_patience(state, offered)) return disconnected(state, offered);
  if (state.io.goodbye()) return at_login(state.lost_error());
  if (unreadable(state, code)) return at_login(state.broken_error(LIBSSH2_ERROR_PROTO));
  if (is_broken(code)) return at_login(state.broken_error(code));
  return {ErrorKind::protocol,
          "handshake",
          fmt::format("logging in on {} failed: {}", state.peer_text(),
                      last_error_text(state.session.get())),
          {},
          Phase::authenticate};
}

Task<Status> try_signers(Connection::State& state,
                         const std::vector<std::shared_ptr<Signer>>& signers, Deadline deadline) {
  std::vector<std::string> offered;
  for (const auto& signer : signers) {
    sign_at_once(state.session.get(), offered.empty(), *signer);
    offered.push_back(signer->description());
    auto code = co_await attempt_key(state, *signer, deadline);
    if (!code) {
      const bool lost = code.error().kind == ErrorKind::connection_lost;
      if (lost && lost_patience(state, offered)) co_return disconnected(state, offered);
      co_return std::move(code).error();
    }
    if (*code == 0) co_return Status();
    if (state.io.goodbye() || !refused(state, *code)) co_return failed(state, *code, offered);
  }
  co_return refusal(state, offered);
}

}  // namespace

Task<Status> authenticate(Connection& connection,
                          const std::vector<std::shared_ptr<Signer>>& signers, Deadline deadline,
                          Observations& observed) {
  const auto started = Clock::now();
  auto status = co_await try_signers(connection.state(), signers, deadline);
  observed.auth_ms = milliseconds_between(started, Clock::now());
  if (status) observed.auth_method = "publickey";
  co_return status;
}

}  // namespace sshx::ssh
