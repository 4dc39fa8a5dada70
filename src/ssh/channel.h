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
};

/// A session channel (RFC 4254 §6.1).
class Channel {
 public:
  /// Waits until `deadline`. Returns: protocol (`channel`), connect (`timeout`), connection_lost,
  /// cancelled.
  [[nodiscard]] static Task<Result<Channel>> open(Connection& connection, Deadline deadline);

  /// Sends `command` to the account's login shell and carries its streams until the channel ends,
  /// `deadline` passes or the caller cancels. Once per channel. Failures are in the outcome:
  /// timeout (`command`), cancelled, connection_lost, protocol (`exec_refused`), local_io.
  [[nodiscard]] Task<CommandOutcome> run(std::string command, CommandStreams streams,
                                         Deadline deadline);

 private:
  Channel(std::shared_ptr<Connection::State> state, void* channel);
  std::shared_ptr<Connection::State> state_;
  void* channel_;
};

}  // namespace sshx::ssh
