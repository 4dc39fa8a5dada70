#pragma once

// Asio chooses its allocator by macros of the C++ library that only exist once one of its headers
// was seen. This one comes first, so that every source file makes the same choice (a mixture frees
// with free() what new made).
// clang-format off
#include <cstddef>
// clang-format on

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/file.h"
#include "core/result.h"

namespace sshx {

/// What a coroutine of the loop gives back. GCC 12: no braced temporaries or capturing lambdas
/// inside a co_await.
template <class T>
using Task = asio::awaitable<T>;

/// Why a wait ended.
enum class WaitEnd : std::uint8_t { notified, deadline };

/// Lets one coroutine sleep until it is notified or a deadline passes. A notification that comes
/// while nobody sleeps is kept. Belongs to the loop's thread.
class Wakeup {
 public:
  explicit Wakeup(asio::io_context& context) : timer_(context) {}
  void notify();
  Task<WaitEnd> wait_until(Deadline deadline);

 private:
  asio::steady_timer timer_;
  bool notified_ = false;
};

/// A request to stop, seen by every wait that subscribed. Belongs to the loop's thread.
class Cancellation {
 public:
  /// Wakes all subscribers. `reason` goes into messages ("SIGINT").
  void request(std::string reason);
  /// The same unless something was requested or acknowledged before: from somebody who asks once,
  /// so that it is never taken for impatience.
  void request_once(std::string reason);
  [[nodiscard]] bool requested() const noexcept { return requested_; }
  /// Takes note of what was requested: from now on only a further request counts, such as the
  /// second SIGINT of somebody who does not want to wait for an orderly end.
  void acknowledge() noexcept {
    requested_ = false;
    ending_ = true;
  }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// The error of what was cancelled: cancelled (`signal`).
  [[nodiscard]] Error error() const;

  /// Wakes `wakeup` on a request while it lives.
  class Subscription {
   public:
    Subscription(Cancellation& cancellation, Wakeup& wakeup);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    Cancellation& cancellation_;
    Wakeup& wakeup_;
  };

 private:
  bool requested_ = false;
  bool ending_ = false;  ///< An end was requested, or is under way.
  std::string reason_;
  std::vector<Wakeup*> subscribers_;
};

/// Wakes a loop's coroutine from any thread; what a helper thread holds of it stays valid after the
/// loop is gone.
class ThreadSignal {
 public:
  /// Returns: internal when the system has no descriptor left.
  [[nodiscard]] static Result<std::shared_ptr<ThreadSignal>> make();
  /// From any thread.
  void raise() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }
  /// On the loop's thread: forgets what was raised so far.
  void clear() const noexcept;

  explicit ThreadSignal(UniqueFd event) : event_(std::move(event)) {}

 private:
  UniqueFd event_;
};

/// Notifies `wakeup` whenever `signal` is raised, until stopped or destroyed.
class SignalRelay {
 public:
  SignalRelay(asio::io_context& context, std::shared_ptr<ThreadSignal> signal, Wakeup& wakeup);
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Turns SIGINT, SIGTERM and SIGHUP into requests of a cancellation while it lives, each time one
/// comes, and kParentDeathSignal into one that is made once. A signal that the caller had ignored
/// (nohup, a shell's background job) stays ignored.
class TerminationSignals {
 public:
  TerminationSignals(asio::io_context& context, Cancellation& cancellation);

 private:
  void listen();

  asio::signal_set signals_;
  Cancellation& cancellation_;
};

/// Calls `action` on the loop each time signal `number` comes, while this lives.
class SignalWatch {
 public:
  SignalWatch(asio::io_context& context, int number, std::function<void()> action);

 private:
  void listen();

  asio::signal_set signals_;
  std::function<void()> action_;
};

/// The loop that everything of one operation runs on, and what may stop it.
struct Runtime {
  asio::io_context& context;
  Cancellation& cancellation;
};

/// Awaits `task` and leaves its value in `value`.
template <class T>
Task<void> keep_value(Task<T> task, std::optional<T>& value) {
  value.emplace(co_await std::move(task));
}

// Made once, in loop.cpp: GCC 12 names the fields of a coroutine's frame differently in each file,
// which the link would take for different types.
extern template Task<void> keep_value(Task<Status> task, std::optional<Status>& value);

/// Lets `task` run on `context` beside its caller. An exception out of it is a bug and comes
/// through the loop.
void spawn(asio::io_context& context, Task<void> task);

/// Runs `task` on `context` to its end and gives back its value. An exception out of it is a bug
/// and comes through.
template <class T>
T run_to_end(asio::io_context& context, Task<T> task) {
  std::optional<T> value;
  std::exception_ptr failure;
  asio::co_spawn(context, keep_value(std::move(task), value),
                 [&](const std::exception_ptr& thrown) {
                   failure = thrown;
                   context.stop();
                 });
  context.restart();
  context.run();
  if (failure) std::rethrow_exception(failure);
  return std::move(value).value();
}

/// Runs the task that `make_task` gives for a Runtime, on a loop of its own, to its end. The
/// TerminationSignals cancel it.
template <class MakeTask>
auto run_cancellable(MakeTask make_task) {
  asio::io_context context;
  Cancellation cancellation;
  const TerminationSignals signals(context, cancellation);
  return run_to_end(context, make_task(Runtime{context, cancellation}));
}

}  // namespace sshx
