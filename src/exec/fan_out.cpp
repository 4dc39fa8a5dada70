#include "exec/fan_out.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>

#include "core/identifier.h"
#include "core/text.h"
#include "exec/async_audit_sink.h"
#include "exec/audit_record.h"
#include "exec/evidence.h"
#include "exec/execution.h"
#include "exec/output_share.h"
#include "exec/prefixed_output.h"

namespace sshx::exec {
namespace {

/// How often a server that closes before its banner is tried, and how long after the first time.
constexpr int kMostTries = 8;
constexpr double kFirstPauseSeconds = 0.1;

/// A target that is not started yet, or is to be tried again.
struct Waiting {
  explicit Waiting(std::size_t target) : index(target) {}

  std::size_t index;
  int tries = 0;
  Deadline not_before = Deadline::min();
  RunDeadlines deadlines;
  std::optional<Error> refused;  ///< Why it is tried again.
};

/// What is under way for one target.
struct Active {
  Cancellation cancellation;
  std::shared_ptr<ThreadSignal> changed;  ///< Raised when there is room for its output again.
};

constexpr double kTickSeconds = 0.2;
/// For one record of the evidence: the store waits two seconds for other processes.
constexpr double kEvidenceSeconds = 10;

/// How many connections one address takes, as far as it has shown.
struct AddressLoad {
  std::size_t active = 0;
  std::size_t limit;
};

/// One of them, from the moment when its target was chosen.
class Place {
 public:
  explicit Place(AddressLoad& load) : load_(&load) { ++load_->active; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { leave(); }

  void leave() noexcept {
    if (load_ != nullptr) --load_->active;
    load_ = nullptr;
  }

 private:
  AddressLoad* load_;
};

/// For how many targets at once the system has descriptors. What it lets us have is more than what
/// it gives at first. A target takes its socket and a few beside it, most of them while its name is
/// looked up or an agent asked.
std::size_t affordable_targets() {
  constexpr rlim_t kOfTheRun = 32;
  constexpr rlim_t kOfATarget = 6;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return (std::max(limit.rlim_cur, kOfTheRun) - kOfTheRun) / kOfATarget;
}

/// Between half and all of `seconds`, so that those who were refused together do not come back
/// together.
double jittered(double seconds) {
  thread_local std::minstd_rand random(std::random_device{}());
  return seconds * std::uniform_real_distribution<double>(0.5, 1)(random);
}

class FanOut {
 public:
  FanOut(Runtime runtime, const RunRequest& run, const RunOptions& options,
         FanOutReceiver& receiver, EventStream& events, RunReport& report)
      : runtime_(runtime), run_(run), options_(options), receiver_(receiver), events_(events),
        report_(report), changed_(runtime.context) {
    for (std::size_t i = 0; i < run.sessions.size(); ++i) waiting_.emplace_back(i);
    if (run.global_timeout_seconds) global_ = after(*run.global_timeout_seconds, options.started);
  }

  Task<Status> work();

 private:
  Task<void> work_alone();
  Task<void> carry(Waiting target, Place& place);
  Task<Status> attempt(const Waiting& target, ExecutionResult& result);
  Task<Status> attempt_streamed(Runtime runtime, Execution& execution,
                                std::shared_ptr<ThreadSignal> changed);
  std::optional<Waiting> next(Deadline& look_again);
  Task<bool> admit(Waiting& target);
  Task<Status> keep(Json record);
  bool try_again(Waiting& target, const Status& status);
  Task<void> finish(ExecutionResult& result, Status status);
  void skip(ExecutionResult& result);
  void conclude(ExecutionResult& result);
  void skip_waiting();
  void stop(std::string why);
  void look_for_stop();
  void pass_cancellation_on();
  AddressLoad& load_of(std::size_t index);
  void wake_idle();
  void tell_of_room();
  Status prepare();
  Task<void> wait_for_workers();

  Runtime runtime_;
  const RunRequest& run_;
  const RunOptions& options_;
  FanOutReceiver& receiver_;
  EventStream& events_;
  RunReport& report_;
  Wakeup changed_;
  std::unique_ptr<AsyncAuditSink> evidence_;
  std::shared_ptr<ThreadSignal> room_;  ///< Raised when the caller has read something.
  std::unique_ptr<InheritedOutput> streamed_;
  InheritedOutput* output_ = nullptr;  ///< Of streamed output or of events, if either.
  Deadline global_ = kNoDeadline;
  PrivateKeys keys_;
  std::list<Waiting> waiting_;
  std::list<Active> active_;
  std::map<std::string, AddressLoad> loads_;
  std::vector<Wakeup*> idle_;
  std::size_t workers_ = 0;
  long long failures_ = 0;
  std::string stopped_because_;
  std::string cancelled_by_;
};

AddressLoad& FanOut::load_of(std::size_t index) {
  const auto& target = run_.sessions[index].target;
  const auto limit = static_cast<std::size_t>(run_.limits.per_address.value_or(run_.concurrency));
  return loads_.try_emplace(host_and_port(target.address, target.port), AddressLoad{0, limit})
      .first->second;
}

void FanOut::wake_idle() {
  for (auto* wakeup : idle_) wakeup->notify();
}

void FanOut::stop(std::string why) {
  if (stopped_because_.empty()) stopped_because_ = std::move(why);
  wake_idle();
}

/// What keeps targets that were not started from being started.
void FanOut::look_for_stop() {
  if (passed(global_)) stop("the time of the whole run was over");
  if (output_ != nullptr && output_->failure()) stop("nobody reads the output any more");
  const auto& limits = run_.limits;
  if (limits.fail_fast && failures_ > 0) stop("another target had failed");
  if (limits.max_failures && failures_ >= *limits.max_failures)
    stop(fmt::format("{} targets had failed", failures_));
}

/// The first target that may be started now. Without one, `look_again` is when that may change.
std::optional<Waiting> FanOut::next(Deadline& look_again) {
  look_for_stop();
  if (!stopped_because_.empty()) skip_waiting();
  look_again = global_;
  for (auto target = waiting_.begin(); target != waiting_.end(); ++target) {
    const auto& load = load_of(target->index);
    if (stopped_because_.empty() && load.active >= load.limit) continue;
    if (stopped_because_.empty() && !passed(target->not_before)) {
      look_again = std::min(look_again, target->not_before);
      continue;
    }
    auto found = std::move(*target);
    waiting_.erase(target);
    return found;
  }
  return std::nullopt;
}

void FanOut::skip_waiting() {
  std::erase_if(waiting_, [this](const Waiting& target) {
    // What was started already ends as it stands, by whoever takes it next.
    if (target.refused) return false;
    skip(report_.results[target.index]);
    return true;
  });
}

void FanOut::skip(ExecutionResult& result) {
  result.skipped = true;
  result.error =
      Error{ErrorKind::cancelled, "skipped",
            fmt::format("{} was not started: {}", result.target.name(), stopped_because_),
            "run it again for the targets that were skipped"};
  finalise(result);
  conclude(result);
}

Task<void> FanOut::work_alone() {
  Wakeup wakeup(runtime_.context);
  idle_.push_back(&wakeup);
  for (;;) {
    Deadline look_again = kNoDeadline;
    auto target = next(look_again);
    if (target) {
      {
        // Left before others look for one.
        Place place(load_of(target->index));
        co_await carry(std::move(*target), place);
      }
      wake_idle();
    } else if (waiting_.empty()) {
      break;
    } else {
      co_await wakeup.wait_until(look_again);
    }
  }
  std::erase(idle_, &wakeup);
  --workers_;
  changed_.notify();
}

/// What became of one record, without keeping other targets waiting.
Task<Status> FanOut::keep(Json record) {
  if (evidence_ == nullptr) co_return options_.audit_failure.value();
  co_return co_await evidence_->append(std::move(record), after(kEvidenceSeconds));
}

/// The evidence of a target that is started for the first time. False when it may not go on.
Task<bool> FanOut::admit(Waiting& target) {
  auto& result = report_.results[target.index];
  result.identity.started_at = std::chrono::system_clock::now();
  result.identity.started_clock = Clock::now();
  target.deadlines = deadlines_of(run_, options_.started);
  Status kept;
  if (options_.audit != AuditMode::off) kept = co_await keep(start_of(result, options_));
  auto status = note_started(result, options_, std::move(kept));
  if (!status) {
    co_await finish(result, std::move(status));
    co_return false;
  }
  events_.target_started(result);
  receiver_.target_started(result);
  co_return true;
}

/// The target to its end, or until it is to be tried again; `place` is left with the connection.
Task<void> FanOut::carry(Waiting target, Place& place) {
  auto& result = report_.results[target.index];
  if (!target.refused) {
    const bool may_go_on = co_await admit(target);
    if (!may_go_on) co_return;
  } else if (!stopped_because_.empty()) {
    co_await finish(result, *target.refused);
    co_return;
  }
  auto& load = load_of(target.index);
  auto status = co_await attempt(target, result);
  place.leave();
  if (try_again(target, status)) {
    load.limit = std::max<std::size_t>(1, load.active / 2);
    waiting_.push_front(std::move(target));
  } else {
    co_await finish(result, std::move(status));
  }
}

Task<Status> FanOut::attempt(const Waiting& target, ExecutionResult& result) {
  SSHX_CO_TRY(auto changed, ThreadSignal::make());
  const auto active = active_.emplace(active_.end());
  active->changed = changed;
  // It may have come while the evidence of this target was written.
  if (!cancelled_by_.empty()) active->cancellation.request(cancelled_by_);
  const Runtime own{runtime_.context, active->cancellation};
  Execution execution{run_, run_.sessions[target.index], target.deadlines, keys_, result};
  auto work = streamed_ != nullptr ? attempt_streamed(own, execution, changed)
                                   : carry_out_captured(own, execution, changed, events_);
  auto status = co_await std::move(work);
  active_.erase(active);
  co_return status;
}

Task<Status> FanOut::attempt_streamed(Runtime runtime, Execution& execution,
                                      std::shared_ptr<ThreadSignal> changed) {
  const auto input = make_input(run_, changed);
  auto& result = execution.result;
  PrefixedOutput lines(result.target.name(), *output_,
                       options_.safe_output ? ControlBytes::visible : ControlBytes::kept,
                       [this] { receiver_.before_lines(); });
  const ssh::CommandStreams streams{*input, lines, changed};
  std::optional<LocalTerminal> none;
  auto status = co_await carry_out(runtime, execution, streams, none);
  lines.finish();
  result.standard_output.total = lines.total(ssh::OutputStream::standard_output);
  result.standard_error.total = lines.total(ssh::OutputStream::standard_error);
  co_return status;
}

/// Whether a server closed before anything was said: then nothing was done, and it is tried again.
bool FanOut::try_again(Waiting& target, const Status& status) {
  if (status || status.error().code != "banner_closed") return false;
  if (!stopped_because_.empty() || ++target.tries >= kMostTries) return false;
  const auto pause = after(jittered(kFirstPauseSeconds * static_cast<double>(1U << target.tries)));
  if (pause >= target.deadlines.earliest()) return false;
  target.not_before = pause;
  target.refused = status.error();
  report_.results[target.index].observed = {};
  return true;
}

Task<void> FanOut::finish(ExecutionResult& result, Status status) {
  if (!status) result.error = std::move(status).error();
  result.duration_ms = milliseconds_between(result.identity.started_clock, Clock::now());
  finalise(result);
  if (!result.success()) ++failures_;
  if (result.audit_status == AuditStatus::written) {
    const auto kept = co_await keep(finished_record(result));
    note_finished(result, kept);
  }
  conclude(result);
}

void FanOut::conclude(ExecutionResult& result) {
  events_.target_finished(result);
  receiver_.target_finished(result);
  if (options_.events.output == nullptr) return;
  // Told by then, and a run on many would hold all of it to its end.
  result.standard_output.text = {};
  result.standard_error.text = {};
}

/// The first request ends what runs and starts nothing more, a second one ends the waiting for it.
/// Each target has a cancellation of its own, since each takes note of it in its own time.
void FanOut::pass_cancellation_on() {
  cancelled_by_ = runtime_.cancellation.reason();
  runtime_.cancellation.acknowledge();
  stop("cancelled by " + cancelled_by_);
  receiver_.cancelled();
  for (auto& active : active_) active.cancellation.request(cancelled_by_);
}

/// The caller has read something: those whose output was held back may go on.
void FanOut::tell_of_room() {
  for (const auto& active : active_) active.changed->raise();
}

/// What all targets share. Returns: local_io when there are not enough descriptors.
Status FanOut::prepare() {
  if (affordable_targets() == 0) {
    return Error{ErrorKind::local_io, "io", "the limit of open files (ulimit -n) is too low", {}};
  }
  output_ = options_.events.output;
  SSHX_TRY(room_, output_ != nullptr ? output_->changed() : ThreadSignal::make());
  if (options_.queue != nullptr) {
    SSHX_TRY(evidence_, AsyncAuditSink::start(runtime_.context, *options_.queue));
  }
  if (options_.output != OutputMode::streamed) return {};
  streamed_ = std::make_unique<InheritedOutput>(
      std::vector<InheritedOutput::Sink>{{STDOUT_FILENO, "stdout"}, {STDERR_FILENO, "stderr"}},
      room_);
  output_ = streamed_.get();
  receiver_.output_through(output_);
  return {};
}

Task<void> FanOut::wait_for_workers() {
  const SignalRelay relay(runtime_.context, room_, changed_);
  while (workers_ > 0) {
    if (runtime_.cancellation.requested()) pass_cancellation_on();
    if (output_ != nullptr) tell_of_room();
    receiver_.tick();
    co_await changed_.wait_until(after(kTickSeconds));
  }
}

Task<Status> FanOut::work() {
  const Cancellation::Subscription subscription(runtime_.cancellation, changed_);
  // Not before a signal is heard: who reads it may send one.
  events_.run_started(run_start(run_));
  if (const auto ready = prepare(); !ready) {
    stop(ready.error().message);
    skip_waiting();
    co_return Status();
  }
  workers_ = std::min(
      {run_.sessions.size(), static_cast<std::size_t>(run_.concurrency), affordable_targets()});
  for (std::size_t i = workers_; i > 0; --i) spawn(runtime_.context, work_alone());
  co_await wait_for_workers();
  receiver_.output_through(nullptr);
  const auto until = stopped_because_.empty() ? kNoDeadline : after(kStalledReaderSeconds);
  if (streamed_ != nullptr) co_await streamed_->drain(runtime_, until);
  co_return Status();
}

Task<Status> fan_out(Runtime runtime, const RunRequest& run, const RunOptions& options,
                     FanOutReceiver& receiver, EventStream& events, RunReport& report) {
  FanOut work(runtime, run, options, receiver, events, report);
  co_return co_await work.work();
}

std::string results_text(const RunReport& report) {
  std::string text;
  for (const auto& result : report.results) {
    text += text.empty() ? "" : ",";
    text += dump_json(result_document(result));
  }
  return text;
}

}  // namespace

RunReport execute_fan_out(const RunRequest& run, const RunOptions& options,
                          FanOutReceiver& receiver) {
  RunReport report;
  report.run_id = new_id();
  report.started_at = std::chrono::system_clock::now();
  for (const auto& session : run.sessions)
    report.results.push_back(planned_result(run, session, report.run_id));
  EventStream events(options.events, report.run_id, options.started);
  // Every target has a result by the end, whatever happened: there is nothing beside them.
  static_cast<void>(run_cancellable(
      [&](Runtime runtime) { return fan_out(runtime, run, options, receiver, events, report); }));
  report.counts = events.counts();
  report.duration_ms = milliseconds_between(options.started, Clock::now());
  events.run_finished(exit_code(report));
  return report;
}

std::string run_document(const RunRequest& run, const RunReport& report) {
  const auto request_id = request_id_of(run);
  const Json head = {{"schema_version", "sshx.run.v1"},
                     {"run_id", report.run_id},
                     {"request_id", request_id ? Json(*request_id) : Json(nullptr)},
                     {"operation", kRunOperation},
                     {"success", exit_code(report) == 0},
                     {"exit_code", exit_code(report)},
                     {"counts", counts_json(report.counts)},
                     {"plan_hash", run.plan.hash},
                     {"started_at", rfc3339(report.started_at)},
                     {"duration_ms", report.duration_ms},
                     {"warnings", run.notes}};
  auto text = dump_json(head);
  text.pop_back();
  return text + ",\"results\":[" + results_text(report) + "]}";
}

int exit_code(const RunReport& report) noexcept {
  return report.counts.succeeded == report.counts.selected ? 0 : 1;
}

}  // namespace sshx::exec
