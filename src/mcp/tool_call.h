#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "mcp/answer.h"
#include "mcp/child_process.h"
#include "mcp/limits.h"

namespace sshx::mcp {

/// How children are started: the program, and what every one of them is told.
struct ChildSettings {
  std::string program;  ///< Path of the binary; of this process's own, unless a test plays it.
  std::vector<std::string> environment;  ///< "NAME=value"
  /// Arguments by the presentation option that an operation must take to get them:
  /// {"read_only", "--read-only"}.
  std::vector<std::pair<std::string, std::string>> options;
};

/// One progress value (MCP notifications/progress), without its token.
struct Progress {
  double value = 0;
  std::optional<double> total;
  std::string message;
};

/// What a tool call comes to.
struct ToolAnswer {
  Json document;  ///< The child's document verbatim, or sshx.adapter.v1.
  bool is_error = false;
};

/// One tool call: one child, its request on stdin, its document back. Ends whatever happens:
/// children are asked to end, and ended with their process group after the grace. Belongs to the
/// loop's thread.
class ToolCall {
 public:
  using Report = std::function<void(const Progress&)>;

  /// `report`, if there is one, is called with progress. All references outlive the call.
  ToolCall(asio::io_context& context, const ChildSettings& settings, const Limits& limits,
           const Operation& operation, Json arguments, Report report);

  /// Runs it to its end; waits for the child. Nothing when the client cancelled it.
  [[nodiscard]] Task<std::optional<ToolAnswer>> run();

  /// What is answered instead of running it while too many others run: adapter (`busy`).
  [[nodiscard]] ToolAnswer refused() const;
  /// What is answered instead of `answered`, whose message would have more than `limit` bytes:
  /// adapter (`too_large`). What was done stays done.
  [[nodiscard]] ToolAnswer oversized(const ToolAnswer& answered, std::size_t limit) const;

  /// The client wants no answer any more: what runs is ended.
  void cancel();
  /// The server ends: what runs is ended, and answers how it ended.
  void shut_down();
  /// Ends the child's process group without grace.
  void kill();
  /// To be called when SIGCHLD came.
  void notice_child_end() { changed_.notify(); }

 private:
  enum class Stop : std::uint8_t { none, cancelled, shutdown, watchdog, fault };

  [[nodiscard]] Program program() const;
  [[nodiscard]] AnswerForm form() const;
  [[nodiscard]] double watchdog_seconds() const;
  void receive(ChildStream stream, std::string_view bytes);
  void stop(Stop reason);
  [[nodiscard]] bool is_over();
  void act();
  void report_progress();
  [[nodiscard]] Deadline next_deadline() const;
  [[nodiscard]] Task<void> settle();
  [[nodiscard]] ToolAnswer answer();
  [[nodiscard]] ToolAnswer adapter_answer(const Error& error, Json execution) const;

  const ChildSettings& settings_;
  const Limits& limits_;
  const Operation& operation_;
  Json arguments_;
  Report report_;
  asio::io_context& context_;
  Wakeup changed_;
  AnswerReader reader_;
  std::string stderr_;
  std::unique_ptr<ChildProcess> child_;
  Stop stop_ = Stop::none;
  Deadline started_ = Clock::now();
  Deadline watchdog_at_ = kNoDeadline;
  Deadline kill_at_ = kNoDeadline;
  Deadline heartbeat_at_ = kNoDeadline;
  Deadline streams_end_at_ = kNoDeadline;
  Deadline reported_at_ = Deadline::min();
  std::size_t beats_ = 0;
  std::size_t reported_targets_ = 0;
};

}  // namespace sshx::mcp
