#pragma once

// The only place that includes libssh2's header. Private to this room.
#include <libssh2.h>

#include <memory>
#include <string>

namespace sshx::ssh {

/// Frees a session. Every caller first makes the socket callbacks fail, so that this neither waits
/// nor leaks (libssh2 1.11 waits for the peer otherwise).
struct SessionDeleter {
  void operator()(LIBSSH2_SESSION* session) const noexcept { libssh2_session_free(session); }
};
using SessionPointer = std::unique_ptr<LIBSSH2_SESSION, SessionDeleter>;

/// The library's own words for its last error on `session`.
[[nodiscard]] std::string last_error_text(LIBSSH2_SESSION* session);

}  // namespace sshx::ssh
