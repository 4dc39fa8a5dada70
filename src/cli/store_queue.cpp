#include "cli/store_queue.h"

namespace sshx::cli {

Status StoreQueue::start(std::function<void()> notify) {
  auto log = std::exchange(log_, std::nullopt);
  SSHX_TRY(writer_, audit::GroupCommit::start(std::move(log).value(), std::move(notify)));
  return {};
}

std::vector<exec::AuditQueue::Outcome> StoreQueue::take_outcomes() {
  std::vector<Outcome> outcomes;
  for (auto& outcome : writer_->take_outcomes()) {
    outcomes.push_back({outcome.ticket, std::move(outcome.status)});
  }
  return outcomes;
}

Status StoreQueue::finish(Deadline deadline) {
  return writer_ ? writer_->finish(deadline) : Status();
}

}  // namespace sshx::cli
