#pragma once

#include <array>
#include <functional>
#include <string>

#include "core/utf8.h"
#include "exec/safe_output.h"
#include "loop/inherited_streams.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// Writes what one of several targets prints, whole lines only, each with "NAME: " in front. All of
/// them write to one InheritedOutput, and no line of one gets into a line of another. A line ends
/// with its newline; a carriage return is a byte like any other. A line of more than 64 KiB is
/// broken there, with the prefix again.
///
/// What the reader does not take holds the servers back, see has_room(). What was received is
/// written all the same.
class PrefixedOutput final : public ssh::OutputReceiver {
 public:
  /// `output` has sink 0 for stdout and 1 for stderr, and must outlive this. `name` has to be fit
  /// for a terminal, as names of hosts are. `before_lines` is called each time that lines are about
  /// to be written.
  PrefixedOutput(
      std::string_view name, InheritedOutput& output, ControlBytes control_bytes,
      std::function<void()> before_lines = [] {});

  /// Does not wait.
  void receive(ssh::OutputStream stream, std::string_view bytes) override;
  [[nodiscard]] bool ready() const override;
  /// That of the shared output: local_io (`broken_pipe`, `no_space`, `io`).
  [[nodiscard]] std::optional<Error> failure() const override;

  /// Writes what is left without an end of line, with one. To be called once nothing more comes.
  /// Does not wait.
  void finish();

  /// Bytes of that stream that the command was seen to print, whatever was written for them.
  [[nodiscard]] unsigned long long total(ssh::OutputStream stream) const;

 private:
  struct Stream {
    std::string started;  ///< The line whose end has not come yet.
    PrintableStream visible;
    unsigned long long total = 0;
  };

  void write_lines(std::size_t index, std::string_view text);
  void break_line(std::string& line, std::string& piece) const;
  void append_line(std::string_view line, std::string& piece) const;

  std::string prefix_;
  InheritedOutput& output_;
  InheritedOutput::Writer writer_;
  ControlBytes control_bytes_;
  std::function<void()> before_lines_;
  std::array<Stream, 2> streams_;
};

}  // namespace sshx::exec
