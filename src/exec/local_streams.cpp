#include "exec/local_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace sshx::exec {
namespace {

constexpr std::size_t kQueueLimit = 1024UL * 1024;
constexpr std::size_t kReadSize = 64UL * 1024;

/// The thread works on a duplicate, so that nothing it does later can hit a reused descriptor
/// number.
UniqueFd duplicate(int descriptor) { return UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

struct StreamedOutput::Shared {
  struct Piece {
    ssh::OutputStream stream;
    std::string bytes;
  };

  void write_all_pieces(const std::shared_ptr<ssh::ThreadSignal>& changed);
  bool take(Piece& piece);
  void finish(const Piece& piece, const Status& written);

  std::array<UniqueFd, 2> descriptors;
  std::array<unsigned long long, 2> totals{};
  mutable std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Piece> pieces;
  std::size_t waiting = 0;  ///< Bytes in `pieces` and in the piece that is being written.
  std::optional<Error> failure;
  bool closing = false;
};

bool StreamedOutput::Shared::take(Piece& piece) {
  std::unique_lock lock(mutex);
  arrived.wait(lock, [this] { return !pieces.empty() || closing; });
  if (pieces.empty()) return false;
  piece = std::move(pieces.front());
  pieces.pop_front();
  return true;
}

void StreamedOutput::Shared::finish(const Piece& piece, const Status& written) {
  const std::lock_guard lock(mutex);
  waiting -= piece.bytes.size();
  if (!written && !failure) failure = written.error();
}

void StreamedOutput::Shared::write_all_pieces(const std::shared_ptr<ssh::ThreadSignal>& changed) {
  for (Piece piece; take(piece);) {
    const auto index = static_cast<std::size_t>(piece.stream);
    const std::string_view name = index == 0 ? "stdout" : "stderr";
    finish(piece, write_all(descriptors[index].get(), piece.bytes, name));
    changed->raise();
  }
}

StreamedOutput::StreamedOutput(int out_descriptor, int error_descriptor,
                               std::shared_ptr<ssh::ThreadSignal> changed)
    : shared_(std::make_shared<Shared>()), changed_(std::move(changed)) {
  shared_->descriptors = {duplicate(out_descriptor), duplicate(error_descriptor)};
  std::thread([shared = shared_, signal = changed_] { shared->write_all_pieces(signal); }).detach();
}

StreamedOutput::~StreamedOutput() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closing = true;
  shared_->arrived.notify_one();
}

void StreamedOutput::receive(ssh::OutputStream stream, std::string_view bytes) {
  const std::lock_guard lock(shared_->mutex);
  shared_->totals[static_cast<std::size_t>(stream)] += bytes.size();
  shared_->waiting += bytes.size();
  shared_->pieces.push_back({stream, std::string(bytes)});
  shared_->arrived.notify_one();
}

bool StreamedOutput::ready() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting < kQueueLimit;
}

std::optional<Error> StreamedOutput::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

unsigned long long StreamedOutput::total(ssh::OutputStream stream) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->totals[static_cast<std::size_t>(stream)];
}

ssh::Task<void> StreamedOutput::drain(ssh::Runtime runtime, Deadline deadline) {
  ssh::Wakeup wakeup(runtime.context);
  const ssh::Cancellation::Subscription subscription(runtime.cancellation, wakeup);
  const ssh::SignalRelay relay(runtime.context, changed_, wakeup);
  for (;;) {
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->waiting == 0 || shared_->failure) co_return;
    }
    if (runtime.cancellation.requested() || passed(deadline)) co_return;
    co_await wakeup.wait_until(deadline);
  }
}

struct StreamedInput::Shared {
  void read_all(const std::shared_ptr<ssh::ThreadSignal>& changed);

  UniqueFd descriptor;
  mutable std::mutex mutex;
  std::condition_variable taken;
  std::string bytes;
  bool at_end = false;
  bool closing = false;
  std::optional<Error> failure;
};

void StreamedInput::Shared::read_all(const std::shared_ptr<ssh::ThreadSignal>& changed) {
  for (bool more = true; more;) {
    auto piece = read_some(descriptor.get(), kReadSize, "stdin");
    std::unique_lock lock(mutex);
    taken.wait(lock, [this] { return bytes.size() < kQueueLimit || closing; });
    if (!piece) failure = piece.error();
    at_end = !piece || piece->empty();
    if (!at_end) bytes.append(*piece);
    more = !at_end && !closing;
    lock.unlock();
    changed->raise();
  }
}

StreamedInput::StreamedInput(int descriptor, std::shared_ptr<ssh::ThreadSignal> changed)
    : shared_(std::make_shared<Shared>()) {
  shared_->descriptor = duplicate(descriptor);
  std::thread([shared = shared_, signal = std::move(changed)] {
    shared->read_all(signal);
  }).detach();
}

StreamedInput::~StreamedInput() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closing = true;
  shared_->taken.notify_one();
}

std::string StreamedInput::next(std::size_t limit) {
  const std::lock_guard lock(shared_->mutex);
  auto piece = shared_->bytes.substr(0, limit);
  shared_->bytes.erase(0, piece.size());
  shared_->taken.notify_one();
  return piece;
}

bool StreamedInput::ended() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->at_end && shared_->bytes.empty();
}

std::optional<Error> StreamedInput::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

std::string GivenInput::next(std::size_t limit) {
  auto piece = bytes_.substr(given_, limit);
  given_ += piece.size();
  return piece;
}

}  // namespace sshx::exec
