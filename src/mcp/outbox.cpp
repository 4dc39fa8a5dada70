#include "mcp/outbox.h"

#include <algorithm>
#include <utility>

namespace sshx::mcp {
namespace {

/// A client that takes this much in time is no stalled one.
constexpr std::size_t kPiece = 64UL * 1024;

}  // namespace

Outbox::Outbox(Runtime runtime, int descriptor, std::shared_ptr<ThreadSignal> signal,
               const Limits& limits)
    : runtime_(runtime), limits_(limits), signal_(std::move(signal)),
      output_({{descriptor, "the MCP client"}}, signal_), changed_(runtime.context) {}

void Outbox::send(std::string message) {
  waiting_ += message.size();
  messages_.push_back({std::move(message), nullptr});
  changed_.notify();
}

void Outbox::offer(const void* owner, std::string note) {
  if (notes_ >= limits_.queued_notes) return;
  ++notes_;
  waiting_ += note.size();
  messages_.push_back({std::move(note), owner});
  changed_.notify();
}

void Outbox::forget(const void* owner) {
  std::erase_if(messages_, [&](const Message& message) {
    if (message.owner != owner) return false;
    --notes_;
    waiting_ -= message.text.size();
    return true;
  });
}

void Outbox::close(Deadline deadline) {
  closing_ = true;
  until_ = deadline;
  changed_.notify();
}

Task<void> Outbox::write() {
  const SignalRelay relay(runtime_.context, signal_, changed_);
  while (!failure_) {
    if (messages_.empty()) {
      if (closing_) break;
      co_await changed_.wait_until(kNoDeadline);
      continue;
    }
    auto message = std::move(messages_.front());
    messages_.pop_front();
    if (message.owner != nullptr) --notes_;
    waiting_ -= message.text.size();
    const bool written = co_await write_message(std::move(message));
    if (!written) break;
  }
}

Task<bool> Outbox::write_message(Message message) {
  if (message.owner != nullptr) {
    output_.offer(0, std::move(message.text), limits_.note_seconds);
    const bool taken = co_await wait_until_taken(limits_.note_seconds + limits_.stall_seconds);
    co_return taken;
  }
  for (std::size_t at = 0; at < message.text.size(); at += kPiece) {
    output_.write(0, message.text.substr(at, kPiece));
    const bool taken = co_await wait_until_taken(limits_.stall_seconds);
    if (!taken) co_return false;
  }
  co_return true;
}

Task<bool> Outbox::wait_until_taken(double seconds) {
  const auto patience = after(seconds);
  while (output_.waiting() > 0 && !output_.failure()) {
    const auto deadline = std::min(patience, until_);
    if (passed(deadline)) {
      failure_ = Error{ErrorKind::adapter, "stalled", "the MCP client does not read its answers",
                       "start a new session"};
      co_return false;
    }
    co_await changed_.wait_until(deadline);
  }
  failure_ = output_.failure();
  co_return !failure_;
}

}  // namespace sshx::mcp
