#include "exec/safe_output.h"

namespace sshx::exec {

void SafeOutput::receive(ssh::OutputStream stream, std::string_view bytes) {
  const auto shown = streams_[static_cast<std::size_t>(stream)].next(bytes);
  if (!shown.empty()) next_.receive(stream, shown);
}

void SafeOutput::finish() {
  for (const auto stream :
       {ssh::OutputStream::standard_output, ssh::OutputStream::standard_error}) {
    const auto rest = streams_[static_cast<std::size_t>(stream)].end();
    if (!rest.empty()) next_.receive(stream, rest);
  }
}

}  // namespace sshx::exec
