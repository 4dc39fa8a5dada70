#pragma once

#include <deque>
#include <optional>
#include <string>

#include "loop/inherited_streams.h"
#include "mcp/limits.h"

namespace sshx::mcp {

/// Everything that goes to the client, one message after the other. Responses are never lost while
/// the client reads; progress notes are, when they come faster than it does. A client that takes
/// nothing is given up. Belongs to the loop's thread.
class Outbox {
 public:
  /// Writes to `descriptor`, a message at a time.
  Outbox(Runtime runtime, int descriptor, std::shared_ptr<ThreadSignal> signal,
         const Limits& limits);

  /// Queues a message, framed as it is sent.
  void send(std::string message);
  /// Queues a progress note of the request that `owner` stands for; dropped when there are
  /// `queued_notes` already, or when the client takes nothing once it is its turn.
  void offer(const void* owner, std::string note);
  /// Drops the notes of `owner` that were not written yet.
  void forget(const void* owner);
  /// Bytes that wait.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

  /// Writes until closed and empty, or until writing fails. Run once.
  [[nodiscard]] Task<void> write();
  /// Lets `write` end once everything is written, at `deadline` at the latest.
  void close(Deadline deadline);
  /// Why nothing can be written any more: local_io (`broken_pipe`, `io`), adapter (`stalled`).
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  struct Message {
    std::string text;
    const void* owner;  ///< Of a note; null for what must not be lost.
  };

  [[nodiscard]] Task<bool> write_message(Message message);
  [[nodiscard]] Task<bool> wait_until_taken(double seconds);

  Runtime runtime_;
  const Limits& limits_;
  std::shared_ptr<ThreadSignal> signal_;
  InheritedOutput output_;
  Wakeup changed_;
  std::deque<Message> messages_;
  std::size_t notes_ = 0;
  std::size_t waiting_ = 0;
  Deadline until_ = kNoDeadline;
  bool closing_ = false;
  std::optional<Error> failure_;
};

}  // namespace sshx::mcp
