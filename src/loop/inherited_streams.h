#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"

namespace sshx {

// Descriptors that the caller of sshx gave it may block, and must not be made non-blocking: they
// are shared with other processes. So threads wait for them. A thread is left behind, never joined;
// it works on a duplicate and holds only what it owns.

/// Writes to inherited descriptors as they take it, in the order given across all of them.
class InheritedOutput {
 public:
  struct Sink {
    int descriptor;
    std::string_view name;  ///< In messages; lives as long as the program.
  };

  /// `changed` is raised each time that a piece was written or a write failed.
  InheritedOutput(const std::vector<Sink>& sinks, std::shared_ptr<ThreadSignal> changed);
  InheritedOutput(const InheritedOutput&) = delete;
  InheritedOutput& operator=(const InheritedOutput&) = delete;
  /// What still waits is written if the descriptor ever takes it while the process lives.
  ~InheritedOutput();

  /// One of several that write here, for waiting(Writer).
  enum class Writer : std::size_t { first };
  /// A further one. Whoever is the only one need not be added.
  [[nodiscard]] Writer add_writer();

  /// Queues one piece for the sink of that index. No other piece gets into it, and what follows a
  /// write that failed is dropped: half a piece may be out by then. Never waits.
  void write(std::size_t sink, std::string bytes, Writer writer = Writer::first);
  /// The same of a piece that is dropped when, once it is its turn, the descriptor takes nothing
  /// for `patience` seconds. What it has begun to take is written whole.
  void offer(std::size_t sink, std::string bytes, double patience);
  /// Bytes of pieces that were not written yet, the one that is being written counted whole.
  [[nodiscard]] std::size_t waiting() const;
  /// The same of one writer's pieces.
  [[nodiscard]] std::size_t waiting(Writer writer) const;
  /// The first fault: local_io (`broken_pipe`, `no_space`, `io`).
  [[nodiscard]] std::optional<Error> failure() const;

  /// What the constructor was given.
  [[nodiscard]] const std::shared_ptr<ThreadSignal>& changed() const noexcept { return changed_; }

  /// Waits until all is written, a write fails, the caller cancels or `deadline` passes.
  [[nodiscard]] Task<void> drain(Runtime runtime, Deadline deadline);
  /// The same of one writer's pieces. `changed` is raised by whoever else listens to changed(),
  /// since a signal has one listener.
  [[nodiscard]] Task<void> drain(Runtime runtime, Deadline deadline, Writer writer,
                                 std::shared_ptr<ThreadSignal> changed);

 private:
  struct Shared;
  [[nodiscard]] Task<void> drain_while(std::function<bool()> some_wait, Runtime runtime,
                                       Deadline deadline, std::shared_ptr<ThreadSignal> changed);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<ThreadSignal> changed_;
};

/// Reads an inherited descriptor as bytes come, a megabyte ahead at most.
class InheritedInput {
 public:
  /// `changed` is raised when bytes or the end came. `name` is for messages and lives as long as
  /// the program.
  InheritedInput(int descriptor, std::string_view name, std::shared_ptr<ThreadSignal> changed);
  InheritedInput(const InheritedInput&) = delete;
  InheritedInput& operator=(const InheritedInput&) = delete;
  ~InheritedInput();

  /// What has come, at most `limit` bytes; empty when nothing has. Never waits.
  [[nodiscard]] std::string next(std::size_t limit);
  /// Whether the end came and everything before it was taken.
  [[nodiscard]] bool ended() const;
  /// local_io (`io`).
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace sshx
