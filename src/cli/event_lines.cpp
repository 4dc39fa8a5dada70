#include "cli/event_lines.h"

#include "cli/terminal.h"

namespace sshx::cli {

void EventLines::write(const Json& event) {
  if (failure_) return;
  auto written = Terminal::out(dump_json(event) + "\n");
  if (!written) failure_ = std::move(written).error();
}

}  // namespace sshx::cli
