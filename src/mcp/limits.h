#pragma once

#include <cstddef>

namespace sshx::mcp {

/// What the adapter takes, keeps and waits for (design §9). They bound delivery, not what happens
/// on a host. `sshx mcp` runs with these values; tests reach each of them with smaller ones.
struct Limits {
  /// A message of the client; the official servers drop a connection beyond the same size.
  std::size_t incoming_bytes = 10UL * 1024 * 1024;
  /// A message to the client; the official clients drop a connection beyond it.
  std::size_t outgoing_bytes = 10UL * 1024 * 1024;
  std::size_t child_stdout_bytes = 64UL * 1024 * 1024;
  std::size_t child_stderr_bytes = 1024UL * 1024;
  std::size_t event_bytes = 64UL * 1024 * 1024;
  std::size_t events = 100'000;
  std::size_t calls = 128;  ///< At once.
  std::size_t queued_notes = 64;
  /// Seconds that a progress note waits for the client to take something, before it is dropped.
  double note_seconds = 0.25;
  /// Seconds in which a client must take the next 64 KiB of a message; else it counts as gone.
  double stall_seconds = 30;
  double watchdog_seconds = 30 * 60;
  /// What an explicit global timeout gets on top, to report.
  double report_seconds = 120;
  /// From asking a child to end to ending its process group.
  double grace_seconds = 3;
  double heartbeat_seconds = 5;
  /// Between a note and the response to the same request: clients handle responses first.
  double settle_seconds = 0.05;
  /// What calls may still take after the client closed the stream.
  double drain_seconds = 1.5;
};

}  // namespace sshx::mcp
