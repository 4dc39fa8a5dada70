#include "loop/loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "core/parent_death.h"

namespace sshx {

template Task<void> keep_value(Task<Status> task, std::optional<Status>& value);

void spawn(asio::io_context& context, Task<void> task) {
  asio::co_spawn(context, std::move(task), [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

void Wakeup::notify() {
  notified_ = true;
  timer_.cancel();
}

Task<WaitEnd> Wakeup::wait_until(Deadline deadline) {
  if (!notified_) {
    timer_.expires_at(deadline);
    asio::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  const bool notified = std::exchange(notified_, false);
  co_return notified ? WaitEnd::notified : WaitEnd::deadline;
}

void Cancellation::request(std::string reason) {
  if (requested_) return;
  requested_ = true;
  ending_ = true;
  reason_ = std::move(reason);
  for (auto* wakeup : subscribers_) wakeup->notify();
}

void Cancellation::request_once(std::string reason) {
  if (!ending_) request(std::move(reason));
}

Error Cancellation::error() const {
  return {ErrorKind::cancelled, "signal", "cancelled by " + reason_, {}};
}

Cancellation::Subscription::Subscription(Cancellation& cancellation, Wakeup& wakeup)
    : cancellation_(cancellation), wakeup_(wakeup) {
  cancellation_.subscribers_.push_back(&wakeup_);
  if (cancellation_.requested()) wakeup_.notify();
}

Cancellation::Subscription::~Subscription() {
  auto& all = cancellation_.subscribers_;
  const auto mine = std::find(all.begin(), all.end(), &wakeup_);
  if (mine != all.end()) all.erase(mine);
}

Result<std::shared_ptr<ThreadSignal>> ThreadSignal::make() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    return Error{ErrorKind::local_io, "io", "cannot make an event descriptor: too many open files",
                 "raise the limit: ulimit -n 1024"};
  }
  return std::make_shared<ThreadSignal>(std::move(event));
}

void ThreadSignal::raise() const noexcept {
  const std::uint64_t one = 1;
  // The counter can only be full when the loop has not looked yet; then it will anyway.
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

void ThreadSignal::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = ::read(event_.get(), &count, sizeof count);
}

struct SignalRelay::State : std::enable_shared_from_this<SignalRelay::State> {
  State(asio::io_context& context, std::shared_ptr<ThreadSignal> source, Wakeup& target)
      : signal(std::move(source)),
        // A duplicate, since asio closes what it owns while the thread may still hold the original.
        descriptor(context, ::fcntl(signal->descriptor(), F_DUPFD_CLOEXEC, 0)), wakeup(&target) {}

  void arm() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](asio::error_code error) {
                            if (error || self->wakeup == nullptr) return;
                            self->signal->clear();
                            self->wakeup->notify();
                            self->arm();
                          });
  }

  std::shared_ptr<ThreadSignal> signal;
  asio::posix::stream_descriptor descriptor;
  Wakeup* wakeup;
};

SignalRelay::SignalRelay(asio::io_context& context, std::shared_ptr<ThreadSignal> signal,
                         Wakeup& wakeup)
    : state_(std::make_shared<State>(context, std::move(signal), wakeup)) {
  state_->arm();
}

SignalRelay::~SignalRelay() {
  state_->wakeup = nullptr;
  asio::error_code ignored;
  state_->descriptor.close(ignored);
}

namespace {

bool is_ignored(int number) {
  struct sigaction current {};
  return ::sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return std::string("SIG") + (name != nullptr ? name : "?");
}

}  // namespace

TerminationSignals::TerminationSignals(asio::io_context& context, Cancellation& cancellation)
    : signals_(context), cancellation_(cancellation) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, kParentDeathSignal}) {
    asio::error_code ignored;
    if (!is_ignored(number)) signals_.add(number, ignored);
  }
  listen();
}

SignalWatch::SignalWatch(asio::io_context& context, int number, std::function<void()> action)
    : signals_(context, number), action_(std::move(action)) {
  listen();
}

void SignalWatch::listen() {
  signals_.async_wait([this](asio::error_code error, int) {
    if (error) return;
    action_();
    listen();
  });
}

void TerminationSignals::listen() {
  signals_.async_wait([this](asio::error_code error, int number) {
    if (error) return;
    if (number == kParentDeathSignal) {
      cancellation_.request_once(parent_has_ended() ? "the end of the calling process"
                                                    : signal_name(number));
    } else {
      cancellation_.request(signal_name(number));
    }
    listen();
  });
}

}  // namespace sshx
