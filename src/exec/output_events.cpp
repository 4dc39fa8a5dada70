#include "exec/output_events.h"

#include <utility>

#include "core/utf8.h"
#include "exec/output_share.h"

namespace sshx::exec {

OutputEvents::OutputEvents(ssh::OutputReceiver& next, EventStream& events,
                           const ExecutionResult& target)
    : next_(next), events_(events),
      lines_(events.lines().with_output ? events.lines().output : nullptr), target_(target) {
  if (lines_ != nullptr) writer_ = lines_->add_writer();
}

void OutputEvents::receive(ssh::OutputStream stream, std::string_view bytes) {
  next_.receive(stream, bytes);
  if (lines_ == nullptr) return;
  auto& cut = streams_[static_cast<std::size_t>(stream)].cut;
  const auto known = std::exchange(cut, {}) + std::string(bytes);
  const auto whole = known.size() - unfinished_tail(known);
  cut = known.substr(whole);
  tell(stream, std::string_view(known).substr(0, whole));
}

void OutputEvents::tell(ssh::OutputStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  auto& told = streams_[static_cast<std::size_t>(stream)].told;
  events_.target_output(target_, {stream, told, bytes}, writer_);
  told += bytes.size();
}

bool OutputEvents::ready() const {
  return next_.ready() && (lines_ == nullptr || has_room(*lines_, writer_));
}

void OutputEvents::finish() {
  for (const auto stream : {ssh::OutputStream::standard_output, ssh::OutputStream::standard_error})
    tell(stream, std::exchange(streams_[static_cast<std::size_t>(stream)].cut, {}));
}

}  // namespace sshx::exec
