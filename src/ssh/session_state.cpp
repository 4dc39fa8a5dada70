#include "ssh/session_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/text.h"
#include "core/utf8.h"

namespace sshx::ssh {

Connection::State::State(Runtime runtime_in, Destination destination_in,
                         asio::ip::tcp::socket socket_in)
    : runtime(runtime_in), destination(std::move(destination_in)), socket(std::move(socket_in)),
      io(socket.native_handle()), wakeup(runtime.context) {}

Connection::State::~State() { io.kill(); }

void Connection::State::arm_read() {
  if (read_armed_ || io.ended()) return;
  read_armed_ = true;
  socket.async_wait(asio::ip::tcp::socket::wait_read,
                    [self = shared_from_this()](asio::error_code) {
                      self->read_armed_ = false;
                      self->wakeup.notify();
                    });
}

void Connection::State::arm_write() {
  if (write_armed_ || io.pending() == 0) return;
  write_armed_ = true;
  socket.async_wait(asio::ip::tcp::socket::wait_write,
                    [self = shared_from_this()](asio::error_code) {
                      self->write_armed_ = false;
                      self->wakeup.notify();
                    });
}

Task<void> Connection::State::yield() {
  co_await asio::post(runtime.context, asio::use_awaitable);
  io.begin_turn();
}

bool Connection::State::is_silent(Reading reading) {
  if (!liveness) return false;
  // While our own reader is full nothing is read, so nothing can be heard.
  liveness->heard(reading == Reading::paused ? Clock::now() : io.last_received());
  const auto silence = liveness->judge(Clock::now());
  if (silence == Silence::too_long) silent_ = true;
  if (silence != Silence::probe_due) return silent_;
  int next_seconds = 0;
  libssh2_keepalive_send(session.get(), &next_seconds);
  liveness->probed();
  return false;
}

Task<Interruption> Connection::State::wait(Deadline deadline, Reading reading) {
  const bool silent = is_silent(reading);
  io.flush();
  if (silent) co_return Interruption::lost;
  if (io.ended()) co_return Interruption::lost;
  if (runtime.cancellation.requested()) co_return Interruption::cancelled;
  if (passed(deadline)) co_return Interruption::deadline;
  if (io.turn_over() && reading == Reading::wanted) {
    co_await yield();
    co_return Interruption::none;
  }
  if (reading == Reading::wanted) arm_read();
  arm_write();
  const Cancellation::Subscription subscription(runtime.cancellation, wakeup);
  const auto look = liveness ? std::min(deadline, liveness->next_look()) : deadline;
  co_await wakeup.wait_until(look);
  co_return Interruption::none;
}

std::string Connection::State::peer_text() const {
  return host_and_port(destination.host, destination.port);
}

bool is_broken(int code) noexcept {
  switch (code) {
  case LIBSSH2_ERROR_SOCKET_SEND:
  case LIBSSH2_ERROR_SOCKET_RECV:
  case LIBSSH2_ERROR_SOCKET_DISCONNECT:
  case LIBSSH2_ERROR_INVALID_MAC:
  case LIBSSH2_ERROR_DECRYPT:
  case LIBSSH2_ERROR_PROTO:
  case LIBSSH2_ERROR_OUT_OF_BOUNDARY:
  case LIBSSH2_ERROR_BUFFER_TOO_SMALL:
  case LIBSSH2_ERROR_CHANNEL_WINDOW_EXCEEDED:
  case LIBSSH2_ERROR_CHANNEL_PACKET_EXCEEDED: return true;
  default: return false;
  }
}

Error Connection::State::broken_error(int code) const {
  const bool by_peer = code == LIBSSH2_ERROR_SOCKET_SEND || code == LIBSSH2_ERROR_SOCKET_RECV ||
                       code == LIBSSH2_ERROR_SOCKET_DISCONNECT;
  if (by_peer || io.goodbye()) return lost_error();
  if (code == LIBSSH2_ERROR_CHANNEL_WINDOW_EXCEEDED ||
      code == LIBSSH2_ERROR_CHANNEL_PACKET_EXCEEDED) {
    return {ErrorKind::protocol, "channel",
            fmt::format("{} sent more than it was allowed to, so output is missing", peer_text()),
            "the server breaks RFC 4254 section 5.2", Phase::execute};
  }
  return {ErrorKind::protocol, "corrupt",
          fmt::format("a packet from {} was damaged, or is no packet", peer_text()),
          "something on the way changes the bytes, or the server is broken", Phase::execute};
}

Error Connection::State::lost_error() const {
  if (silent_) {
    return {ErrorKind::connection_lost, "silent",
            fmt::format("{} no longer answers: nothing came for {} s, to probes neither",
                        peer_text(), milliseconds_between(io.last_received(), Clock::now()) / 1000),
            "the host or the network went away, or raise --server-alive-interval"};
  }
  if (io.goodbye()) {
    return {
        ErrorKind::connection_lost,
        "closed",
        fmt::format("{} closed the connection: {}", peer_text(), printable(io.goodbye()->words)),
        {}};
  }
  const bool reset = io.failure() == ECONNRESET || io.failure() == EPIPE;
  return {ErrorKind::connection_lost,
          reset ? "reset" : "closed",
          fmt::format("the connection to {} was {}", peer_text(),
                      reset ? "reset" : "closed by the server"),
          {}};
}

}  // namespace sshx::ssh
