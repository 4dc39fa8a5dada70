#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx::cli {

enum class Notes : std::uint8_t { shown, hidden };

/// Makes the standard streams safe to use: descriptors 0, 1 and 2 that are closed are opened on
/// /dev/null, so that no other file can take their place; a reader that went away is an error of
/// write(2), not a signal. To be called first. Returns: local_io, where there is no /dev/null for
/// one that is closed; then no file may be opened.
[[nodiscard]] Status prepare_standard_streams();

/// Keeps stdout for answers alone: moves it to a descriptor of its own, which Terminal::out writes
/// to from then on, and points descriptor 1 to stderr, so that what a library prints, at any time,
/// ends there. To be called once, before anything is written.
/// Returns: local_io.
[[nodiscard]] Status claim_standard_output();

/// The three standard streams as commands use them: answers to stdout, people's words to stderr.
/// Unbuffered: what was written is out. What comes from a host or a file goes through printable()
/// before it is given to `out` in a table.
class Terminal {
 public:
  explicit Terminal(Notes notes) noexcept : notes_(notes) {}

  /// Writes to stdout as it stands. Waits for the reader.
  /// Returns: local_io (`broken_pipe` when the reader went away, `no_space`, `io`).
  [[nodiscard]] static Status out(std::string_view text);
  /// The descriptor that `out` writes to.
  [[nodiscard]] static int output_descriptor() noexcept;
  [[nodiscard]] Notes notes() const noexcept { return notes_; }

  /// "sshx: MESSAGE" on stderr, with --quiet nothing. Faults of stderr are not reported: there is
  /// nowhere left to.
  void note(std::string_view message) const;
  /// What note() writes.
  [[nodiscard]] static std::string line(std::string_view message);
  /// The same with --quiet too, since the caller has to act on it.
  static void warn(std::string_view message);
  /// "sshx: MESSAGE" and, where there is a hint, "sshx: hint: HINT" on stderr, with --quiet too.
  /// Says nothing of a reader that went away: `sshx ... | head` is not a fault.
  static void report(const Error& error);

  /// Writes to stderr as it stands: what draws a line of a terminal anew.
  static void draw(std::string_view text);

  /// Whether a person can be asked: stdin and stderr are terminals.
  [[nodiscard]] static bool can_ask() noexcept;
  /// Asks on stderr and waits for one line of stdin, given back without its end.
  /// Returns: local_io (`io`).
  [[nodiscard]] static Result<std::string> ask(std::string_view question);

 private:
  Notes notes_;
};

}  // namespace sshx::cli
