#pragma once

// Private to this room: the state behind a Connection.

#include <functional>
#include <string>

#include "ssh/connection.h"
#include "ssh/libssh2.h"
#include "ssh/liveness.h"
#include "ssh/socket_io.h"

namespace sshx::ssh {

/// Why driving a libssh2 call ended before the call did.
enum class Interruption : std::uint8_t { none, deadline, cancelled, lost };

/// Whether a wait ends when the peer sends something. Paused while our own reader is full.
enum class Reading : std::uint8_t { wanted, paused };

struct Outcome {
  int code = 0;  ///< libssh2's return value, when nothing interrupted the call.
  Interruption interruption = Interruption::none;
};

/// Whether a libssh2 code means that nothing more can come over this connection.
[[nodiscard]] bool is_broken(int code) noexcept;

struct Connection::State : std::enable_shared_from_this<Connection::State> {
  State(Runtime runtime_in, Destination destination_in, asio::ip::tcp::socket socket_in);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Sleeps until the socket or a notification brings something new, and flushes what is queued.
  /// `none` means: try again. Asks a silent peer whether it is there, where `liveness` is set.
  Task<Interruption> wait(Deadline deadline, Reading reading = Reading::wanted);

  /// Lets timers, signals and other coroutines run once, for loops that never have to wait, and
  /// begins a new turn of the socket.
  Task<void> yield();

  /// Repeats `step`, a callable giving a libssh2 code, until it is something else than EAGAIN.
  template <class Step>
  Task<Outcome> drive(Step& step, Deadline deadline) {
    for (;;) {
      Outcome outcome;
      outcome.code = step();
      if (outcome.code != LIBSSH2_ERROR_EAGAIN) co_return outcome;
      outcome.interruption = co_await wait(deadline);
      if (outcome.interruption != Interruption::none) co_return outcome;
    }
  }

  /// The error of a lost connection: connection_lost (`closed`, `reset`, `silent`).
  [[nodiscard]] Error lost_error() const;
  /// The error of a libssh2 call that broke the connection (see is_broken): a lost connection, or
  /// protocol (`corrupt`, `channel`).
  [[nodiscard]] Error broken_error(int code) const;
  [[nodiscard]] std::string peer_text() const;

  Runtime runtime;
  Destination destination;
  asio::ip::tcp::socket socket;
  SocketIo io;
  Wakeup wakeup;
  SessionPointer session;
  /// Set once logged in: before that the connect deadline ends every wait.
  std::optional<Liveness> liveness;

 private:
  /// Whether the peer has been silent for too long; sends a probe when one is due.
  bool is_silent(Reading reading);
  void arm_read();
  void arm_write();

  bool read_armed_ = false;
  bool write_armed_ = false;
  bool silent_ = false;
};

}  // namespace sshx::ssh
