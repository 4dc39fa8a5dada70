#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "mcp/limits.h"

namespace sshx::mcp {

/// How a child answers: with one document, or with a stream of events that ends in one.
enum class AnswerForm : std::uint8_t { document, events };

/// Takes in what a child prints on stdout. Nothing is made up: what is not whole, not in order or
/// beyond a limit is a fault of the adapter, never a result.
class AnswerReader {
 public:
  AnswerReader(AnswerForm form, const Limits& limits) : form_(form), limits_(limits) {}

  /// Takes bytes as they come. What comes after a fault is dropped.
  void receive(std::string_view bytes);
  /// The first fault so far: adapter (`stdout_limit`, `event_limit`, `too_many_events`,
  /// `malformed`).
  [[nodiscard]] const std::optional<Error>& fault() const noexcept { return fault_; }

  /// The document, once all has come. Returns: the fault; adapter (`no_document`, `truncated`,
  /// `malformed`).
  [[nodiscard]] Result<Json> document();

  /// Targets that the run has, and those of them that are done; 0 before the stream says.
  [[nodiscard]] std::size_t selected() const noexcept { return selected_; }
  [[nodiscard]] std::size_t targets_finished() const noexcept { return finished_; }
  /// The ids under which the evidence knows what was started; null before they were told.
  [[nodiscard]] const Json& run_id() const noexcept { return run_id_; }
  [[nodiscard]] const Json& execution_id() const noexcept { return execution_id_; }

 private:
  void take_lines();
  void take_line(std::string_view line);
  void take_event(Json event);
  void begin_run(const Json& event);
  void end_target(Json result);
  void end_run(const Json& event);
  void fail(std::string code, std::string message);

  AnswerForm form_;
  const Limits& limits_;
  std::string text_;  ///< What was not taken apart yet.
  std::size_t received_ = 0;
  std::size_t events_ = 0;
  std::size_t selected_ = 0;
  std::size_t finished_ = 0;
  bool run_finished_ = false;
  Json document_;
  Json run_;  ///< sshx.run.v1, as far as the events have told it; null for one target.
  Json run_id_;
  Json execution_id_;
  std::optional<Error> fault_;
};

}  // namespace sshx::mcp
