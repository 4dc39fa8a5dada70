#pragma once

#include "loop/inherited_streams.h"

namespace sshx::exec {

/// Bytes of output that may wait for the caller; more hold the servers back.
inline constexpr std::size_t kQueueLimit = 1024UL * 1024;
/// How long a caller that has stalled is waited for once everything is over and the run failed
/// anyway.
inline constexpr double kStalledReaderSeconds = 1;

/// Whether what one of several targets prints may be queued for the caller. Not once 256 KiB of its
/// own wait, or as much as there is room left, and not once a megabyte of all waits. So there is
/// room for a quiet target however many others flood, and what the reader does not take holds the
/// servers back. After a fault nothing waits.
[[nodiscard]] bool has_room(const InheritedOutput& output, InheritedOutput::Writer writer);

}  // namespace sshx::exec
