#include "exec/output_share.h"

#include <algorithm>

namespace sshx::exec {
namespace {

constexpr std::size_t kOwnLimit = 256UL * 1024;

}  // namespace

bool has_room(const InheritedOutput& output, InheritedOutput::Writer writer) {
  const auto waiting = output.waiting();
  if (waiting >= kQueueLimit) return false;
  return output.waiting(writer) < std::min(kOwnLimit, kQueueLimit - waiting);
}

}  // namespace sshx::exec
