#pragma once

#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "core/deadline.h"

namespace sshx::cli {

/// A target that has not ended yet.
struct RunningTarget {
  std::string name;
  long long seconds = 0;  ///< Whole ones since it was started.
};

/// How far a run on many targets is.
struct Progress {
  std::size_t total = 0;
  std::size_t done = 0;    ///< Those that failed included.
  std::size_t failed = 0;  ///< Not mentioned while none has.
  std::size_t running = 0;
  std::optional<RunningTarget> slowest = {};
};

/// "12/200 done, 1 failed, 16 running; slowest web-7 (12 s)", cut so that it leaves the last of
/// `columns` free: a terminal may go to the next line once that is taken.
[[nodiscard]] std::string status_text(const Progress& progress, std::size_t columns);

/// What Ctrl-C tells: "still running: web-7 (12 s), web-1 (3 s); Ctrl-C again to leave", the
/// slowest first, and how many more there are where they are many. Empty where nothing runs.
[[nodiscard]] std::string running_list(std::vector<RunningTarget> targets);

/// The columns of the terminal that the descriptor is, 80 where it does not tell;
/// nothing where it is no terminal, and with --quiet.
[[nodiscard]] std::optional<std::size_t> status_columns(Notes notes,
                                                        int descriptor = STDERR_FILENO);

/// The status of a run on many targets, in the last line of a terminal. It writes nothing itself:
/// what comes back is to be written to that terminal as it stands, before anything else goes there.
/// Without columns all of it is empty, and what is running is still known. Never waits.
class StatusLine {
 public:
  StatusLine(std::size_t total, std::optional<std::size_t> columns)
      : columns_(columns), progress_{.total = total} {}

  /// Shown with the next tick.
  void started(std::string_view name, Clock::time_point now);
  /// Of a target that was started, or that ended without it. Redraws at once.
  [[nodiscard]] std::string finished(std::string_view name, bool ok, Clock::time_point now);
  /// To be called now and then; redraws what has changed, five times a second at most.
  [[nodiscard]] std::string tick(Clock::time_point now);
  /// Takes the line away: before other lines are written, and in the end. The next tick shows it
  /// again.
  [[nodiscard]] std::string clear();
  /// The terminal has another width (SIGWINCH).
  void resize(std::size_t columns);

  /// What runs now, in the order of its start.
  [[nodiscard]] std::vector<RunningTarget> running(Clock::time_point now) const;

 private:
  struct Started {
    std::string name;
    Clock::time_point at;
  };

  [[nodiscard]] std::string draw(Clock::time_point now);
  [[nodiscard]] std::string replace(std::string text);

  std::optional<std::size_t> columns_;
  Progress progress_;
  std::vector<Started> running_;  ///< In the order of their start.
  std::string shown_;
  std::optional<Clock::time_point> drawn_at_;
};

}  // namespace sshx::cli
