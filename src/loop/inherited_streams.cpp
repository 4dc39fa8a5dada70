#include "loop/inherited_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/file.h"

namespace sshx {
namespace {

constexpr std::size_t kReadAhead = 1024UL * 1024;
constexpr std::size_t kReadSize = 64UL * 1024;

/// The thread works on a duplicate, so that nothing it does later can hit a reused descriptor
/// number.
UniqueFd duplicate(int descriptor) { return UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3)); }

/// Whether the descriptor takes a byte, or has a fault to tell, within so many seconds.
bool takes_more(int descriptor, double seconds) {
  constexpr double kMillisecondsPerSecond = 1000;
  pollfd waited{descriptor, POLLOUT, 0};
  const auto until = after(seconds);
  for (auto left = until - Clock::now(); left > Clock::duration::zero();
       left = until - Clock::now()) {
    const auto milliseconds = std::chrono::duration<double>(left).count() * kMillisecondsPerSecond;
    const int ready = ::poll(&waited, 1, static_cast<int>(milliseconds) + 1);
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
  return false;
}

}  // namespace

struct InheritedOutput::Shared {
  struct Piece {
    std::size_t sink = 0;
    std::string bytes;
    std::size_t writer = 0;
    std::optional<double> patience;  ///< Of one that may be dropped.
  };

  struct OwnedSink {
    UniqueFd descriptor;
    std::string_view name;
    bool failed = false;
  };

  void write_all_pieces(const std::shared_ptr<ThreadSignal>& changed);
  void enqueue(Piece piece);
  bool take(Piece& piece);
  Status write(const Piece& piece);
  void finish(const Piece& piece, const Status& written);

  std::vector<OwnedSink> sinks;
  mutable std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Piece> pieces;
  std::size_t waiting = 0;
  std::vector<std::size_t> waiting_of{0};  ///< By writer.
  std::optional<Error> failure;
  bool closing = false;
};

void InheritedOutput::Shared::enqueue(Piece piece) {
  const std::lock_guard lock(mutex);
  waiting += piece.bytes.size();
  waiting_of[piece.writer] += piece.bytes.size();
  pieces.push_back(std::move(piece));
  arrived.notify_one();
}

bool InheritedOutput::Shared::take(Piece& piece) {
  std::unique_lock lock(mutex);
  arrived.wait(lock, [this] { return !pieces.empty() || closing; });
  if (pieces.empty()) return false;
  piece = std::move(pieces.front());
  pieces.pop_front();
  return true;
}

void InheritedOutput::Shared::finish(const Piece& piece, const Status& written) {
  const std::lock_guard lock(mutex);
  waiting -= piece.bytes.size();
  waiting_of[piece.writer] -= piece.bytes.size();
  if (!written && !failure) failure = written.error();
}

/// Writes the piece, unless it is one to be dropped. The sinks belong to the thread.
Status InheritedOutput::Shared::write(const Piece& piece) {
  auto& sink = sinks[piece.sink];
  if (sink.failed) return {};
  if (piece.patience && !takes_more(sink.descriptor.get(), *piece.patience)) return {};
  auto written = write_all(sink.descriptor.get(), piece.bytes, sink.name);
  sink.failed = !written;
  return written;
}

void InheritedOutput::Shared::write_all_pieces(const std::shared_ptr<ThreadSignal>& changed) {
  for (Piece piece; take(piece);) {
    finish(piece, write(piece));
    changed->raise();
  }
}

InheritedOutput::InheritedOutput(const std::vector<Sink>& sinks,
                                 std::shared_ptr<ThreadSignal> changed)
    : shared_(std::make_shared<Shared>()), changed_(std::move(changed)) {
  for (const auto& sink : sinks) shared_->sinks.push_back({duplicate(sink.descriptor), sink.name});
  std::thread([shared = shared_, signal = changed_] { shared->write_all_pieces(signal); }).detach();
}

InheritedOutput::~InheritedOutput() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closing = true;
  shared_->arrived.notify_one();
}

InheritedOutput::Writer InheritedOutput::add_writer() {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting_of.push_back(0);
  return Writer{shared_->waiting_of.size() - 1};
}

void InheritedOutput::write(std::size_t sink, std::string bytes, Writer writer) {
  shared_->enqueue({sink, std::move(bytes), static_cast<std::size_t>(writer), std::nullopt});
}

void InheritedOutput::offer(std::size_t sink, std::string bytes, double patience) {
  shared_->enqueue({sink, std::move(bytes), static_cast<std::size_t>(Writer::first), patience});
}

std::size_t InheritedOutput::waiting() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting;
}

std::size_t InheritedOutput::waiting(Writer writer) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting_of[static_cast<std::size_t>(writer)];
}

std::optional<Error> InheritedOutput::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

Task<void> InheritedOutput::drain(Runtime runtime, Deadline deadline) {
  return drain_while([this] { return waiting() > 0; }, runtime, deadline, changed_);
}

Task<void> InheritedOutput::drain(Runtime runtime, Deadline deadline, Writer writer,
                                  std::shared_ptr<ThreadSignal> changed) {
  return drain_while([this, writer] { return waiting(writer) > 0; }, runtime, deadline,
                     std::move(changed));
}

Task<void> InheritedOutput::drain_while(std::function<bool()> some_wait, Runtime runtime,
                                        Deadline deadline, std::shared_ptr<ThreadSignal> changed) {
  Wakeup wakeup(runtime.context);
  const Cancellation::Subscription subscription(runtime.cancellation, wakeup);
  const SignalRelay relay(runtime.context, std::move(changed), wakeup);
  while (some_wait() && !failure()) {
    if (runtime.cancellation.requested() || passed(deadline)) co_return;
    co_await wakeup.wait_until(deadline);
  }
}

struct InheritedInput::Shared {
  void read_all(const std::shared_ptr<ThreadSignal>& changed);

  UniqueFd descriptor;
  std::string_view name;
  mutable std::mutex mutex;
  std::condition_variable taken;
  std::string bytes;
  bool at_end = false;
  bool closing = false;
  std::optional<Error> failure;
};

void InheritedInput::Shared::read_all(const std::shared_ptr<ThreadSignal>& changed) {
  for (bool more = true; more;) {
    auto piece = read_some(descriptor.get(), kReadSize, name);
    std::unique_lock lock(mutex);
    taken.wait(lock, [this] { return bytes.size() < kReadAhead || closing; });
    if (!piece) failure = piece.error();
    at_end = !piece || piece->empty();
    if (!at_end) bytes.append(*piece);
    more = !at_end && !closing;
    lock.unlock();
    changed->raise();
  }
}

InheritedInput::InheritedInput(int descriptor, std::string_view name,
                               std::shared_ptr<ThreadSignal> changed)
    : shared_(std::make_shared<Shared>()) {
  shared_->descriptor = duplicate(descriptor);
  shared_->name = name;
  std::thread([shared = shared_, signal = std::move(changed)] {
    shared->read_all(signal);
  }).detach();
}

InheritedInput::~InheritedInput() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closing = true;
  shared_->taken.notify_one();
}

std::string InheritedInput::next(std::size_t limit) {
  const std::lock_guard lock(shared_->mutex);
  auto piece = shared_->bytes.substr(0, limit);
  shared_->bytes.erase(0, piece.size());
  shared_->taken.notify_one();
  return piece;
}

bool InheritedInput::ended() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->at_end && shared_->bytes.empty();
}

std::optional<Error> InheritedInput::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

}  // namespace sshx
