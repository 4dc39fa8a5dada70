#include "audit/group_commit.h"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "audit/record.h"

namespace sshx::audit {
namespace {

/// Records and their tickets, in the order of the queue.
struct Batch {
  std::vector<GroupCommit::Ticket> tickets;
  std::vector<Json> records;
};

/// An exception must not end the process from this thread: the caller's run goes on.
Status append_batch(AuditLog& log, Batch& batch) {
  try {
    return log.append_all(batch.records);
  } catch (const std::exception& bug) {
    return Error{ErrorKind::internal, "exception", std::string("a defect of sshx: ") + bug.what(),
                 "please report it"};
  }
}

Error closed_store(const std::filesystem::path& file) {
  return {ErrorKind::internal, "audit_record",
          fmt::format("a record came after the evidence store {} was closed", file.string()),
          "please report it"};
}

}  // namespace

/// What both threads hold. Whoever leaves first leaves it to the other.
struct GroupCommit::Shared {
  Shared(AuditLog store, std::function<void()> call)
      : file(store.file()), log(std::move(store)), notify(std::move(call)) {}

  void write_batches();
  void enqueue(Ticket ticket, Json record);
  Batch take();
  void settle(const Batch& batch, const Status& status);
  void close();
  void end();

  const std::filesystem::path file;
  /// The writer's alone.
  std::optional<AuditLog> log;
  const std::function<void()> notify;

  std::mutex mutex;
  std::condition_variable arrived;
  std::condition_variable done;
  Ticket last_ticket = 0;
  Batch queue;
  std::vector<Outcome> outcomes;
  bool closing = false;
  bool ended = false;
};

void GroupCommit::Shared::write_batches() {
  for (auto batch = take(); !batch.tickets.empty(); batch = take()) {
    settle(batch, append_batch(*log, batch));
    notify();
  }
  end();
}

/// With the mutex held.
void GroupCommit::Shared::enqueue(Ticket ticket, Json record) {
  queue.tickets.push_back(ticket);
  queue.records.push_back(std::move(record));
  // Only the first one can find the writer asleep.
  if (queue.tickets.size() == 1) arrived.notify_one();
}

/// Everything that is queued, once there is something; nothing when that was all.
Batch GroupCommit::Shared::take() {
  std::unique_lock lock(mutex);
  arrived.wait(lock, [this] { return !queue.tickets.empty() || closing; });
  return std::exchange(queue, {});
}

void GroupCommit::Shared::settle(const Batch& batch, const Status& status) {
  const std::lock_guard lock(mutex);
  for (const auto ticket : batch.tickets) outcomes.push_back({ticket, status});
}

void GroupCommit::Shared::close() {
  const std::lock_guard lock(mutex);
  closing = true;
  arrived.notify_one();
}

void GroupCommit::Shared::end() {
  // Closed before anybody is told: the caller may leave main at once.
  log.reset();
  const std::lock_guard lock(mutex);
  ended = true;
  done.notify_all();
}

GroupCommit::GroupCommit(std::shared_ptr<Shared> shared) noexcept : shared_(std::move(shared)) {}

GroupCommit::~GroupCommit() { shared_->close(); }

Result<std::unique_ptr<GroupCommit>> GroupCommit::start(AuditLog log,
                                                        std::function<void()> notify) {
  auto shared = std::make_shared<Shared>(std::move(log), std::move(notify));
  try {
    std::thread([shared] { shared->write_batches(); }).detach();
  } catch (const std::system_error& refused) {
    return Error{ErrorKind::local_io, "audit_open",
                 fmt::format("cannot start the writer of the evidence store {}: {}",
                             shared->file.string(), refused.code().message()),
                 "raise the limit of processes and threads: ulimit -u"};
  }
  return std::unique_ptr<GroupCommit>(new GroupCommit(std::move(shared)));
}

GroupCommit::Ticket GroupCommit::append(Json record) {
  auto acceptable = check_record(record);
  std::unique_lock lock(shared_->mutex);
  if (shared_->closing) acceptable = closed_store(shared_->file);
  const auto ticket = ++shared_->last_ticket;
  if (acceptable) {
    shared_->enqueue(ticket, std::move(record));
    return ticket;
  }
  shared_->outcomes.push_back({ticket, std::move(acceptable)});
  lock.unlock();
  shared_->notify();
  return ticket;
}

std::vector<GroupCommit::Outcome> GroupCommit::take_outcomes() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->outcomes, {});
}

Status GroupCommit::finish(Deadline deadline) {
  shared_->close();
  std::unique_lock lock(shared_->mutex);
  if (shared_->done.wait_until(lock, deadline, [this] { return shared_->ended; })) return {};
  return Error{
      ErrorKind::local_io, "audit_write",
      fmt::format("the evidence store {} did not take all records in time", shared_->file.string()),
      "see what holds up its disk, or name another store with --audit-db FILE"};
}

}  // namespace sshx::audit
