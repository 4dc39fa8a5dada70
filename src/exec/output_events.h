#pragma once

#include <array>
#include <string>

#include "exec/event_stream.h"

namespace sshx::exec {

/// Takes a command's output, hands it on, and where events of output are wanted tells it, a
/// character never in two of them. What the reader of the events does not take holds the server
/// back, see has_room(); one that went away does not matter, and what is told is dropped then.
class OutputEvents final : public ssh::OutputReceiver {
 public:
  /// All of them must outlive this.
  OutputEvents(ssh::OutputReceiver& next, EventStream& events, const ExecutionResult& target);

  void receive(ssh::OutputStream stream, std::string_view bytes) override;
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::optional<Error> failure() const override { return next_.failure(); }

  /// Tells what a stream ended in the middle of. To be called once nothing more comes.
  void finish();

 private:
  struct Stream {
    std::string cut;  ///< The first bytes of a character.
    unsigned long long told = 0;
  };

  void tell(ssh::OutputStream stream, std::string_view bytes);

  ssh::OutputReceiver& next_;
  EventStream& events_;
  InheritedOutput* lines_;  ///< Null: nobody wants to hear of it.
  InheritedOutput::Writer writer_ = InheritedOutput::Writer::first;
  const ExecutionResult& target_;
  std::array<Stream, 2> streams_;
};

}  // namespace sshx::exec
