#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ssh/connection.h"

namespace sshx::ssh {

enum class OutputStream : std::uint8_t { standard_output, standard_error };

/// Takes what a command prints, as it comes.
class OutputReceiver {
 public:
  OutputReceiver() = default;
  OutputReceiver(const OutputReceiver&) = delete;
  OutputReceiver& operator=(const OutputReceiver&) = delete;
  virtual ~OutputReceiver() = default;

  virtual void receive(OutputStream stream, std::string_view bytes) = 0;
  /// Whether more can be taken now; while not, the channel's window holds the server back.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Why nothing can be delivered any more, such as a closed pipe.
  [[nodiscard]] virtual std::optional<Error> failure() const = 0;
};

/// Gives what a command reads.
class InputSource {
 public:
  InputSource() = default;
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;
  virtual ~InputSource() = default;

  /// What is there now, at most `limit` bytes; empty while nothing is.
  [[nodiscard]] virtual std::string next(std::size_t limit) = 0;
  /// Whether all was given.
  [[nodiscard]] virtual bool ended() const = 0;
  /// Why the rest cannot be read.
  [[nodiscard]] virtual std::optional<Error> failure() const = 0;
};

/// The local ends of a command's streams. `changed`, if set, is raised by whoever makes a receiver
/// ready again or brings new input.
struct CommandStreams {
  InputSource& input;
  OutputReceiver& output;
  std::shared_ptr<ThreadSignal> changed;
};

/// What came back for the exec request (RFC 4254 §6.5).
enum class Acknowledgement : std::uint8_t { not_sent, awaited, success, failure };

/// What was seen of a command; nothing here is guessed.
struct CommandOutcome {
  Acknowledgement request = Acknowledgement::not_sent;
  std::optional<std::uint32_t> exit_status;  ///< RFC 4254 §6.10, if it came.
  std::optional<std::string> exit_signal;    ///< Its name without SIG, if it came.
  bool closed = false;                       ///< The server closed the channel.
  bool output_left_open = false;  ///< The command ended; something else still holds its output.
  /// Why watching ended before the channel did.
  std::optional<Error> stopped;

  [[nodiscard]] bool exit_seen() const { return exit_status || exit_signal; }
  /// Whether the connection ended under the command: from then on nothing is known of it.
  [[nodiscard]] bool cut_off() const {
    return stopped &&
           (stopped->kind == ErrorKind::connection_lost || stopped->kind == ErrorKind::protocol);
  }
};

/// A pseudo-terminal's measures (RFC 4254 §6.2), in characters.
struct TerminalSize {
  unsigned columns = 80;
  unsigned rows = 24;
};

/// What came back for a signal request. RFC 4254 §6.9 asks for none, but OpenSSH answers when
/// asked: it refuses for root logins and for forced commands.
enum class SignalAnswer : std::uint8_t {
  accepted,
  refused,
  closed,  ///< The channel had ended already.
  none,    ///< Nothing came in time, or the library cannot wait for it.
};

class CommandRun;

/// A session channel (RFC 4254 §6.1). Its requests are made one at a time in the whole session.
class Channel {
 public:
  /// Waits until `deadline`. Returns: protocol (`channel`, `corrupt`), connect (`timeout`),
  /// connection_lost, cancelled.
  [[nodiscard]] static Task<Result<Channel>> open(Connection& connection, Deadline deadline);

  /// Asks for a pseudo-terminal (RFC 4254 §6.2), which merges stderr into stdout. `type` is TERM,
  /// such as "xterm". Waits until `deadline`. Returns: protocol (`pty_refused`, `corrupt`), connect
  /// (`timeout`), connection_lost, cancelled.
  [[nodiscard]] Task<Status> request_terminal(std::string type, TerminalSize size,
                                              Deadline deadline);
  /// Tells the server the terminal's new size (RFC 4254 §6.7). Does not wait.
  void resize_terminal(TerminalSize size);

  /// Sends `command` to the account's login shell and carries its streams until the channel ends,
  /// `deadline` passes or the caller cancels. Once per channel; what `streams` refers to must
  /// outlive the channel. Failures are in the outcome: timeout (`command`), cancelled,
  /// connection_lost, protocol (`exec_refused`, `corrupt`, `channel`), local_io.
  [[nodiscard]] Task<CommandOutcome> run(std::string command, CommandStreams streams,
                                         Deadline deadline);

  /// After run() was stopped while the answer to the exec request was awaited: waits on for it.
  [[nodiscard]] Task<Acknowledgement> await_acknowledgement(Deadline deadline);
  /// What came back for run()'s exec request so far.
  [[nodiscard]] Acknowledgement acknowledgement() const;
  /// Signals what the channel runs; `name` without SIG (RFC 4254 §6.9). Waits for the answer.
  [[nodiscard]] Task<SignalAnswer> signal(std::string name, Deadline deadline);
  /// After run() was stopped: waits until the command's end is seen or the connection is lost.
  [[nodiscard]] Task<void> await_exit(Deadline deadline);
  /// After run() was stopped: hands over the output that has come since, without waiting.
  void take_remaining_output();
  /// After run() was stopped: whether the command's end has been seen since.
  [[nodiscard]] bool exit_seen();

 private:
  Channel(std::shared_ptr<Connection::State> state, void* channel);
  std::shared_ptr<Connection::State> state_;
  void* channel_;
  std::shared_ptr<CommandRun> run_;
};

}  // namespace sshx::ssh
