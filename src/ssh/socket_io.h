#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/deadline.h"

namespace sshx::ssh {

/// The bytes between libssh2 and a socket. libssh2's own socket code loses output at a disconnect,
/// stalls on partial writes and deadlocks when a rekey meets a half-sent packet; these rules cure
/// all three: SEND takes everything into a queue of ours, and RECV never reports the end of the
/// stream, which we judge ourselves once all packets are read.
///
/// A turn hands libssh2 a bounded number of bytes: one call of it drains whatever comes, so a peer
/// that never stops sending would otherwise keep every deadline waiting.
class SocketIo {
 public:
  /// The descriptor stays the caller's.
  explicit SocketIo(int descriptor);

  /// libssh2's SEND callback (`abstract` points to a SocketIo). Never partial, never EAGAIN.
  static ssize_t send(int, const void* bytes, std::size_t count, int flags, void** abstract);
  /// libssh2's RECV callback.
  static ssize_t receive(int, void* bytes, std::size_t count, int flags, void** abstract);

  /// Writes what the socket takes now.
  void flush();
  /// Begins a turn: RECV gives bytes again.
  void begin_turn() noexcept { given_this_turn_ = 0; }
  /// Whether this turn's bytes are used up, so that more may be there than RECV said.
  [[nodiscard]] bool turn_over() const noexcept;
  /// From now on both callbacks fail, so that libssh2 frees a session without waiting.
  void kill() noexcept { dead_ = true; }
  /// Nothing more will be read, whatever comes.
  void stop_receiving() noexcept { ended_ = true; }

  [[nodiscard]] std::size_t pending() const noexcept { return out_.size() - out_head_; }
  /// The peer has ended the stream or the socket has failed, and all bytes were given to libssh2.
  [[nodiscard]] bool ended() const noexcept { return ended_ && in_head_ == in_tail_; }
  /// When the last bytes came; when this was made, before any did.
  [[nodiscard]] Deadline last_received() const noexcept { return last_received_; }
  /// errno of the failure that ended the stream; 0 for an orderly end.
  [[nodiscard]] int failure() const noexcept { return failure_; }
  /// The first bytes that ever came (at most 1 KiB): tells what answers when it is not SSH.
  [[nodiscard]] std::string_view greeting() const noexcept { return greeting_; }
  /// What the server said when it disconnected (RFC 4253 §11.1).
  struct Goodbye {
    int reason = 0;
    std::string words;
  };
  void note_disconnect(int reason, std::string_view words) {
    goodbye_ = Goodbye{reason, std::string(words)};
  }
  /// The server sent a debug message (RFC 4253 §11.3): OpenSSH lists a key's options in one.
  void note_debug(std::string_view words);
  [[nodiscard]] bool forced_command() const noexcept { return forced_command_; }
  [[nodiscard]] const std::optional<Goodbye>& goodbye() const noexcept { return goodbye_; }

 private:
  bool fill();

  int descriptor_;
  std::string out_;
  std::size_t out_head_ = 0;
  std::unique_ptr<char[]> in_;  ///< Made when first needed: a silent server costs none.
  std::size_t in_head_ = 0;
  std::size_t in_tail_ = 0;
  std::size_t given_this_turn_ = 0;
  std::string greeting_;
  std::optional<Goodbye> goodbye_;
  Deadline last_received_ = Clock::now();
  int failure_ = 0;
  bool ended_ = false;
  bool dead_ = false;
  bool forced_command_ = false;
};

}  // namespace sshx::ssh
