#pragma once

#include <array>
#include <string>

#include "loop/inherited_streams.h"
#include "ssh/channel.h"

namespace sshx::exec {

/// Writes a command's output to the caller's stdout and stderr as it comes. Output keeps its order
/// across both. What the caller does not read holds the server back once a megabyte waits.
class StreamedOutput final : public ssh::OutputReceiver {
 public:
  /// `changed` is raised when there is room again or a write failed.
  StreamedOutput(int out_descriptor, int error_descriptor, std::shared_ptr<ThreadSignal> changed);

  void receive(ssh::OutputStream stream, std::string_view bytes) override;
  [[nodiscard]] bool ready() const override;
  /// local_io (`broken_pipe`, `no_space`, `io`).
  [[nodiscard]] std::optional<Error> failure() const override;
  [[nodiscard]] unsigned long long total(ssh::OutputStream stream) const;

  /// Waits until all is written, a write fails, the caller cancels or `deadline` passes. The thread
  /// is left behind then.
  [[nodiscard]] Task<void> drain(Runtime runtime, Deadline deadline);

 private:
  InheritedOutput output_;
  std::array<unsigned long long, 2> totals_{};
};

/// Reads the caller's stdin as it comes.
class StreamedInput final : public ssh::InputSource {
 public:
  /// `changed` is raised when bytes or the end came.
  StreamedInput(int descriptor, std::shared_ptr<ThreadSignal> changed);

  [[nodiscard]] std::string next(std::size_t limit) override;
  [[nodiscard]] bool ended() const override;
  [[nodiscard]] std::optional<Error> failure() const override;

 private:
  InheritedInput input_;
};

/// Input that is there already.
class GivenInput final : public ssh::InputSource {
 public:
  /// Whether the stream ends after the last byte, or stays open until the command ends.
  enum class AfterLast : std::uint8_t { ends, stays_open };

  /// `bytes` must outlive this.
  explicit GivenInput(std::string_view bytes, AfterLast after_last = AfterLast::ends)
      : bytes_(bytes), after_last_(after_last) {}
  [[nodiscard]] std::string next(std::size_t limit) override;
  [[nodiscard]] bool ended() const override {
    return after_last_ == AfterLast::ends && given_ == bytes_.size();
  }
  [[nodiscard]] std::optional<Error> failure() const override { return std::nullopt; }

 private:
  std::string_view bytes_;
  AfterLast after_last_;
  std::size_t given_ = 0;
};

}  // namespace sshx::exec
