#include "exec/async_audit_sink.h"

#include <map>
#include <optional>
#include <utility>

namespace sshx::exec {
namespace {

Error not_in_time() {
  return {ErrorKind::local_io, "audit_write",
          "the evidence store did not take a record of this execution in time",
          "see which process or disk holds it up, or name another store with --audit-db FILE"};
}

}  // namespace

/// What the coroutine that delivers outcomes needs; it may outlive the sink until it next runs.
struct AsyncAuditSink::Shared {
  Shared(asio::io_context& loop, AuditQueue& records, std::shared_ptr<ThreadSignal> raised)
      : context(loop), queue(records), arrived(std::move(raised)), wakeup(loop) {}

  void deliver();

  asio::io_context& context;
  AuditQueue& queue;
  std::shared_ptr<ThreadSignal> arrived;
  Wakeup wakeup;
  std::map<AuditQueue::Ticket, Wait*> waits;
  bool closing = false;
};

/// One coroutine that waits for its record, known to the sink while it lives.
struct AsyncAuditSink::Wait {
  Wait(std::shared_ptr<Shared> owner, AuditQueue::Ticket place)
      : shared(std::move(owner)), ticket(place), wakeup(shared->context) {
    shared->waits.emplace(ticket, this);
  }

  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  ~Wait() { shared->waits.erase(ticket); }

  std::shared_ptr<Shared> shared;
  AuditQueue::Ticket ticket;
  Wakeup wakeup;
  std::optional<Status> outcome;
};

void AsyncAuditSink::Shared::deliver() {
  for (auto& outcome : queue.take_outcomes()) {
    const auto found = waits.find(outcome.ticket);
    // Nobody waits for it any more.
    if (found == waits.end()) continue;
    found->second->outcome = std::move(outcome.status);
    found->second->wakeup.notify();
  }
}

AsyncAuditSink::AsyncAuditSink(std::shared_ptr<Shared> shared) noexcept
    : shared_(std::move(shared)) {}

AsyncAuditSink::~AsyncAuditSink() {
  shared_->closing = true;
  shared_->wakeup.notify();
}

Result<std::unique_ptr<AsyncAuditSink>> AsyncAuditSink::start(asio::io_context& context,
                                                              AuditQueue& queue) {
  SSHX_TRY(auto arrived, ThreadSignal::make());
  SSHX_CHECK(queue.start([arrived] { arrived->raise(); }));
  auto shared = std::make_shared<Shared>(context, queue, std::move(arrived));
  spawn(context, deliver_all(shared));
  return std::unique_ptr<AsyncAuditSink>(new AsyncAuditSink(std::move(shared)));
}

/// One for all that wait: of several relays of one signal only the first is sure to see it.
Task<void> AsyncAuditSink::deliver_all(std::shared_ptr<Shared> shared) {
  const SignalRelay relay(shared->context, shared->arrived, shared->wakeup);
  while (!shared->closing) {
    shared->deliver();
    co_await shared->wakeup.wait_until(kNoDeadline);
  }
}

Task<Status> AsyncAuditSink::append(Json record, Deadline deadline, Cancellation* cancellation) {
  // Outcomes come through the loop, so none can come before the wait is known.
  Wait wait(shared_, shared_->queue.append(std::move(record)));
  std::optional<Cancellation::Subscription> subscription;
  if (cancellation != nullptr) subscription.emplace(*cancellation, wait.wakeup);
  while (!wait.outcome) {
    if (cancellation != nullptr && cancellation->requested()) co_return cancellation->error();
    if (passed(deadline)) co_return not_in_time();
    co_await wait.wakeup.wait_until(deadline);
  }
  co_return std::move(*wait.outcome);
}

}  // namespace sshx::exec
