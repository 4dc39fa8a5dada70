#include "cli/event_lines.h"

#include "cli/terminal.h"

namespace sshx::cli {
namespace {

constexpr int kFailure = 255;

Task<Status> taken(Runtime runtime, InheritedOutput& output) {
  co_await output.drain(runtime, kNoDeadline);
  if (output.failure()) co_return *output.failure();
  if (output.waiting() > 0) {
    auto error = runtime.cancellation.error();
    error.message = "the reader of the events had not taken all of them: " + error.message;
    co_return error;
  }
  co_return Status();
}

}  // namespace

EventLines::EventLines(std::shared_ptr<ThreadSignal> changed)
    : output_(std::make_unique<InheritedOutput>(
          std::vector<InheritedOutput::Sink>{{Terminal::output_descriptor(), "standard output"}},
          std::move(changed))) {}

Result<EventLines> EventLines::open() {
  SSHX_TRY(auto changed, ThreadSignal::make());
  return EventLines(std::move(changed));
}

int EventLines::finish(int exit_code) {
  const auto status = run_cancellable([this](Runtime runtime) { return taken(runtime, *output_); });
  if (status) return exit_code;
  Terminal::report(status.error());
  return kFailure;
}

}  // namespace sshx::cli
