#pragma once

#include <sstream>
#include <thread>
#include <vector>

#include "exec/event_stream.h"
#include "unit/loop/scratch.h"

namespace sshx::test {

/// A reader of events that takes all of them at once.
class KeptEvents {
 public:
  KeptEvents()
      : pipe_(make_pipe()),
        output_(std::in_place,
                std::vector<InheritedOutput::Sink>{{pipe_.write_end.get(), "events"}},
                ThreadSignal::make().value()),
        reader_([this] { text_ = read_to_end(pipe_.read_end.get()); }) {}
  KeptEvents(const KeptEvents&) = delete;
  KeptEvents& operator=(const KeptEvents&) = delete;
  ~KeptEvents() { end(); }

  [[nodiscard]] exec::EventSink sink(bool with_output = false) { return {&*output_, with_output}; }

  /// All events, each from a line of its own. Nothing more may be written then.
  std::vector<Json> take() {
    end();
    std::vector<Json> events;
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
    return events;
  }

 private:
  void end() {
    if (!output_) return;
    Loop loop;
    loop.run(output_->drain(loop.runtime(), after(kGuardSeconds)));
    output_.reset();
    pipe_.write_end = UniqueFd();
    reader_.join();
  }

  Pipe pipe_;
  std::optional<InheritedOutput> output_;
  std::string text_;
  std::thread reader_;
};

}  // namespace sshx::test
