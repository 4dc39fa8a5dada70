#include "ssh/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "ssh/session_state.h"

namespace sshx::ssh {
namespace {

// Larger windows make sshd buffer and cut the throughput; packets above 32 KiB are refused by
// libssh2.
constexpr unsigned kWindow = 4U << 20U;
constexpr unsigned kPacket = 32768;
constexpr std::size_t kReadSize = 64UL * 1024;
constexpr std::size_t kReadsPerTurn = 16;
constexpr std::size_t kLastTurns = 16;
constexpr std::size_t kInputChunk = 32000;
constexpr std::size_t kSendQueueLimit = 256UL * 1024;
/// A code of our own, none of libssh2's: the channel ended before the request was answered.
constexpr int kEndedEarly = 1;
/// How long output may stay silent after the command's own end before it counts as held by
/// something else.
constexpr std::chrono::milliseconds kOpenOutputGrace{1000};

/// What is not done when the time for connecting is over.
Error connect_timeout(const Connection::State& state, std::string_view undone) {
  return {ErrorKind::connect, "timeout",
          fmt::format("{} {} within the connect timeout", state.peer_text(), undone),
          "raise --connect-timeout", Phase::execute};
}

Error interrupted(const Connection::State& state, Interruption why, Error at_deadline) {
  if (why == Interruption::cancelled) return state.runtime.cancellation.error();
  if (why == Interruption::lost) return state.lost_error();
  return at_deadline;
}

}  // namespace

/// One command's request and streams; what run() left behind when it was stopped, the calls after
/// it go on with.
class CommandRun {
 public:
  CommandRun(Connection::State& state, LIBSSH2_CHANNEL* channel, std::string command,
             CommandStreams streams)
      : state_(state), channel_(channel), command_(std::move(command)),
        streams_(std::move(streams)), buffer_(kReadSize, '\0') {}

  Task<void> start(Deadline deadline);
  Task<void> carry(Deadline deadline);
  Task<void> await_exit(Deadline deadline);
  bool read_output();
  void note_exit();
  [[nodiscard]] Acknowledgement request() const { return outcome_.request; }
  [[nodiscard]] const CommandOutcome& outcome() const { return outcome_; }

 private:
  bool read_stream(OutputStream stream);
  bool write_input();
  bool send_chunk();
  void send_end_of_input();
  void note_exit_signal();
  void note_broken(int code);
  [[nodiscard]] bool finished(bool output_moved);
  [[nodiscard]] bool ended_early();
  [[nodiscard]] Deadline end_of_grace() const;
  [[nodiscard]] std::optional<Error> local_failure() const;
  [[nodiscard]] Deadline next_look() const;
  void forgive_pause(Clock::duration pause);
  Task<bool> wait();

  Connection::State& state_;
  LIBSSH2_CHANNEL* channel_;
  std::string command_;
  CommandStreams streams_;
  CommandOutcome outcome_;
  std::string buffer_;
  std::string unsent_;
  Deadline last_activity_ = Clock::now();
  bool input_done_ = false;
  bool input_refused_ = false;
  Deadline deadline_ = kNoDeadline;
  int broken_ = 0;  ///< libssh2's code for what broke the connection.
  bool lost_ = false;
};

namespace {

Error command_timeout(const Connection::State& state) {
  return {ErrorKind::timeout, "command",
          fmt::format("the command on {} did not end within its timeout", state.peer_text()),
          "raise --timeout"};
}

}  // namespace

Task<void> CommandRun::start(Deadline deadline) {
  auto step = [&] {
    outcome_.request = Acknowledgement::awaited;
    const int code = libssh2_channel_process_startup(channel_, "exec", 4, command_.data(),
                                                     static_cast<unsigned>(command_.size()));
    return code == LIBSSH2_ERROR_EAGAIN && ended_early() ? kEndedEarly : code;
  };
  const auto outcome = co_await state_.drive(step, deadline);
  last_activity_ = Clock::now();
  if (outcome.interruption != Interruption::none) {
    outcome_.stopped = interrupted(state_, outcome.interruption, command_timeout(state_));
  } else if (outcome.code == 0) {
    outcome_.request = Acknowledgement::success;
  } else if (outcome.code == kEndedEarly) {
    // Its exit status proves that it ran, whatever the server forgot to say.
    if (outcome_.exit_seen()) outcome_.request = Acknowledgement::success;
  } else if (outcome.code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) {
    outcome_.request = Acknowledgement::failure;
    outcome_.stopped =
        Error{ErrorKind::protocol, "exec_refused",
              fmt::format("{} refused to run a command", state_.peer_text()),
              "the account may allow SFTP only, or the device has no exec", Phase::execute};
  } else {
    outcome_.stopped = state_.broken_error(outcome.code);
  }
}

/// Whether the channel came to its end while the answer to the request is still awaited.
bool CommandRun::ended_early() {
  read_output();
  note_exit();
  return outcome_.exit_seen() || libssh2_channel_eof(channel_) == 1;
}

bool CommandRun::read_stream(OutputStream stream) {
  const int id = stream == OutputStream::standard_output ? 0 : SSH_EXTENDED_DATA_STDERR;
  bool progress = false;
  for (std::size_t i = 0; i < kReadsPerTurn && streams_.output.ready(); ++i) {
    const auto got = libssh2_channel_read_ex(channel_, id, buffer_.data(), buffer_.size());
    if (is_broken(static_cast<int>(got))) note_broken(static_cast<int>(got));
    if (got <= 0) break;
    streams_.output.receive(stream, {buffer_.data(), static_cast<std::size_t>(got)});
    last_activity_ = Clock::now();
    progress = true;
  }
  return progress;
}

void CommandRun::note_broken(int code) {
  if (broken_ == 0) broken_ = code;
  lost_ = true;
  state_.io.stop_receiving();
}

bool CommandRun::read_output() {
  const bool out = read_stream(OutputStream::standard_output);
  const bool err = read_stream(OutputStream::standard_error);
  return out || err;
}

void CommandRun::send_end_of_input() {
  // Our queue takes the packet at once; an error means that the peer has closed already.
  libssh2_channel_send_eof(channel_);
  input_done_ = true;
}

bool CommandRun::send_chunk() {
  const auto sent = libssh2_channel_write_ex(channel_, 0, unsent_.data(), unsent_.size());
  if (sent == LIBSSH2_ERROR_EAGAIN) return false;
  if (sent < 0) {
    // The command has closed its end: the rest is not wanted, which is no failure (`head -1` does
    // it).
    input_refused_ = true;
    unsent_.clear();
    return true;
  }
  unsent_.erase(0, static_cast<std::size_t>(sent));
  return sent > 0;
}

bool CommandRun::write_input() {
  if (input_done_ || state_.io.pending() > kSendQueueLimit) return false;
  if (unsent_.empty() && !input_refused_) unsent_ = streams_.input.next(kInputChunk);
  if (!unsent_.empty()) return send_chunk();
  if (!input_refused_ && !streams_.input.ended()) return false;
  send_end_of_input();
  return true;
}

void CommandRun::note_exit() {
  if (!outcome_.exit_signal) note_exit_signal();
  // INT_MIN until it came: patches/libssh2/0001. A status is an unsigned 32-bit number on the wire.
  // Of several the last one counts, as in ssh(1).
  const int status = libssh2_channel_get_exit_status(channel_);
  if (status != std::numeric_limits<int>::min())
    outcome_.exit_status = static_cast<std::uint32_t>(status);
}

void CommandRun::note_exit_signal() {
  char* name = nullptr;
  std::size_t length = 0;
  libssh2_channel_get_exit_signal(channel_, &name, &length, nullptr, nullptr, nullptr, nullptr);
  if (name == nullptr) return;
  // Some servers send "SIGTERM" where RFC 4254 §6.10 wants "TERM".
  const std::string_view sent(name, length);
  outcome_.exit_signal = std::string(sent.starts_with("SIG") ? sent.substr(3) : sent);
  libssh2_free(state_.session.get(), name);
}

/// When output after the command's own end is left to whoever holds it: once it was silent for a
/// while, or at the command's deadline. sshd tells the exit while output still queues behind it, so
/// that no shorter bound is safe.
Deadline CommandRun::end_of_grace() const {
  return std::min(last_activity_ + kOpenOutputGrace, deadline_);
}

bool CommandRun::finished(bool output_moved) {
  note_exit();
  if (!output_moved && libssh2_channel_eof(channel_) == 1) {
    const int code = libssh2_channel_wait_closed(channel_);
    outcome_.closed = code == 0;
    if (is_broken(code)) note_broken(code);
    // That call reads on: the exit status may have come with the close.
    note_exit();
    if (outcome_.exit_seen() || outcome_.closed) return true;
  } else if (outcome_.exit_seen() && !lost_ && streams_.output.ready() && passed(end_of_grace())) {
    outcome_.output_left_open = true;
    return true;
  }
  if (!lost_ || output_moved) return false;
  outcome_.stopped = broken_ == 0 ? state_.lost_error() : state_.broken_error(broken_);
  return true;
}

std::optional<Error> CommandRun::local_failure() const {
  auto failure = streams_.output.failure();
  return failure ? failure : streams_.input.failure();
}

Deadline CommandRun::next_look() const {
  if (!outcome_.exit_seen()) return deadline_;
  return streams_.output.ready() ? end_of_grace() : kNoDeadline;
}

/// What our own reader takes is no silence of the server's, and once the command has ended, none of
/// its time.
void CommandRun::forgive_pause(Clock::duration pause) {
  last_activity_ = Clock::now();
  if (outcome_.exit_seen()) deadline_ += pause;
}

/// Whether to go on; sets why not.
Task<bool> CommandRun::wait() {
  const auto reading = streams_.output.ready() ? Reading::wanted : Reading::paused;
  const auto before = Clock::now();
  const auto why = co_await state_.wait(next_look(), reading);
  if (reading == Reading::paused) forgive_pause(Clock::now() - before);
  if (why == Interruption::none) co_return true;
  // The end of the grace; the command itself has ended in time.
  if (why == Interruption::deadline && outcome_.exit_seen()) co_return true;
  if (why == Interruption::lost) {
    lost_ = true;
    co_return true;
  }
  outcome_.stopped = interrupted(state_, why, command_timeout(state_));
  co_return false;
}

Task<void> CommandRun::carry(Deadline deadline) {
  deadline_ = deadline;
  for (;;) {
    const bool output_moved = read_output();
    const bool input_moved = write_input();
    outcome_.stopped = local_failure();
    if (outcome_.stopped) co_return;
    const bool over = finished(output_moved);
    if (over) co_return;
    if (output_moved || input_moved) {
      co_await state_.yield();
      const bool ended = passed(deadline_) || state_.runtime.cancellation.requested();
      if (!ended || outcome_.exit_seen()) continue;
    }
    const bool go_on = co_await wait();
    if (!go_on) co_return;
  }
}

Task<void> CommandRun::await_exit(Deadline deadline) {
  for (auto why = Interruption::none; why == Interruption::none && !lost_;) {
    read_output();
    note_exit();
    if (outcome_.exit_seen()) co_return;
    why = co_await state_.wait(deadline);
  }
}

Channel::Channel(std::shared_ptr<Connection::State> state, void* channel)
    : state_(std::move(state)), channel_(channel) {}

Task<Result<Channel>> Channel::open(Connection& connection, Deadline deadline) {
  auto& state = connection.state();
  LIBSSH2_CHANNEL* channel = nullptr;
  auto step = [&] {
    channel =
        libssh2_channel_open_ex(state.session.get(), "session", 7, kWindow, kPacket, nullptr, 0);
    return channel != nullptr ? 0 : libssh2_session_last_errno(state.session.get());
  };
  const auto outcome = co_await state.drive(step, deadline);
  if (outcome.interruption != Interruption::none) {
    co_return interrupted(state, outcome.interruption, connect_timeout(state, "opened no channel"));
  }
  if (is_broken(outcome.code)) co_return state.broken_error(outcome.code);
  if (channel == nullptr) {
    co_return Error{ErrorKind::protocol, "channel",
                    fmt::format("{} opened no channel: {}", state.peer_text(),
                                last_error_text(state.session.get())),
                    "the account may allow no sessions (MaxSessions)", Phase::execute};
  }
  co_return Channel(state.shared_from_this(), channel);
}

namespace {

LIBSSH2_CHANNEL* native(void* channel) { return static_cast<LIBSSH2_CHANNEL*>(channel); }

}  // namespace

Task<Status> Channel::request_terminal(std::string type, TerminalSize size, Deadline deadline) {
  auto step = [&] {
    return libssh2_channel_request_pty_ex(
        native(channel_), type.data(), static_cast<unsigned>(type.size()), nullptr, 0,
        static_cast<int>(size.columns), static_cast<int>(size.rows), 0, 0);
  };
  const auto outcome = co_await state_->drive(step, deadline);
  if (outcome.interruption != Interruption::none) {
    co_return interrupted(*state_, outcome.interruption,
                          connect_timeout(*state_, "gave no terminal"));
  }
  if (is_broken(outcome.code)) co_return state_->broken_error(outcome.code);
  if (outcome.code != 0) {
    co_return Error{ErrorKind::protocol, "pty_refused",
                    fmt::format("{} gave no terminal", state_->peer_text()),
                    "the key or the server may forbid it (no-pty, PermitTTY)", Phase::execute};
  }
  co_return Status();
}

void Channel::resize_terminal(TerminalSize size) {
  libssh2_channel_request_pty_size_ex(native(channel_), static_cast<int>(size.columns),
                                      static_cast<int>(size.rows), 0, 0);
}

Task<CommandOutcome> Channel::run(std::string command, CommandStreams streams, Deadline deadline) {
  std::optional<SignalRelay> relay;
  if (streams.changed) relay.emplace(state_->runtime.context, streams.changed, state_->wakeup);
  run_ = std::make_shared<CommandRun>(*state_, native(channel_), std::move(command),
                                      std::move(streams));
  co_await run_->start(deadline);
  if (!run_->outcome().stopped) co_await run_->carry(deadline);
  co_return run_->outcome();
}

Task<Acknowledgement> Channel::await_acknowledgement(Deadline deadline) {
  if (run_->request() == Acknowledgement::awaited) co_await run_->start(deadline);
  co_return run_->request();
}

Acknowledgement Channel::acknowledgement() const { return run_->request(); }

Task<SignalAnswer> Channel::signal(std::string name, Deadline deadline) {
  auto step = [&] { return libssh2_channel_signal_ex(native(channel_), name.data(), name.size()); };
  const auto outcome = co_await state_->drive(step, deadline);
  if (outcome.interruption != Interruption::none) co_return SignalAnswer::none;
  if (outcome.code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) co_return SignalAnswer::refused;
  if (outcome.code == LIBSSH2_ERROR_CHANNEL_CLOSED) co_return SignalAnswer::closed;
  // Without patches/libssh2/0002 the library says 0 of every signal, delivered or not.
  const bool accepted = kPatchedLibssh2 && outcome.code == 0;
  co_return accepted ? SignalAnswer::accepted : SignalAnswer::none;
}

Task<void> Channel::await_exit(Deadline deadline) { co_await run_->await_exit(deadline); }

void Channel::take_remaining_output() {
  // Bounded, since a command that still runs may print faster than it is read.
  bool more = true;
  for (std::size_t turn = 0; more && turn < kLastTurns; ++turn) more = run_->read_output();
}

bool Channel::exit_seen() {
  run_->note_exit();
  return run_->outcome().exit_seen();
}

}  // namespace sshx::ssh
