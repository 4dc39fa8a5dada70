#include "exec/local_streams.h"

#include <utility>

#include "exec/output_share.h"

namespace sshx::exec {
StreamedOutput::StreamedOutput(int out_descriptor, int error_descriptor,
                               std::shared_ptr<ThreadSignal> changed)
    : output_({{out_descriptor, "stdout"}, {error_descriptor, "stderr"}}, std::move(changed)) {}

void StreamedOutput::receive(ssh::OutputStream stream, std::string_view bytes) {
  const auto index = static_cast<std::size_t>(stream);
  totals_[index] += bytes.size();
  output_.write(index, std::string(bytes));
}

bool StreamedOutput::ready() const { return output_.waiting() < kQueueLimit; }

std::optional<Error> StreamedOutput::failure() const { return output_.failure(); }

unsigned long long StreamedOutput::total(ssh::OutputStream stream) const {
  return totals_[static_cast<std::size_t>(stream)];
}

Task<void> StreamedOutput::drain(Runtime runtime, Deadline deadline) {
  return output_.drain(runtime, deadline);
}

StreamedInput::StreamedInput(int descriptor, std::shared_ptr<ThreadSignal> changed)
    : input_(descriptor, "stdin", std::move(changed)) {}

std::string StreamedInput::next(std::size_t limit) { return input_.next(limit); }

bool StreamedInput::ended() const { return input_.ended(); }

std::optional<Error> StreamedInput::failure() const { return input_.failure(); }

std::string GivenInput::next(std::size_t limit) {
  std::string piece(bytes_.substr(given_, limit));
  given_ += piece.size();
  return piece;
}

}  // namespace sshx::exec
