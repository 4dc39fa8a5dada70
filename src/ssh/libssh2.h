#pragma once

// The only place that includes libssh2's header. Private to this room.
#include <libssh2.h>

#include <memory>
#include <string>

namespace sshx::ssh {

/// Whether this is our own build with patches/libssh2. The system's (SSHX_SYSTEM_LIBSSH2) has none:
/// it asks about every key, and tells nothing of a signal that was refused.
#ifdef LIBSSH2_FLAG_SIGN_AT_ONCE
inline constexpr bool kPatchedLibssh2 = true;
#else
inline constexpr bool kPatchedLibssh2 = false;
#endif

/// Frees a session. Every caller first makes the socket callbacks fail, so that this neither waits
/// nor leaks (libssh2 1.11 waits for the peer otherwise).
struct SessionDeleter {
  void operator()(LIBSSH2_SESSION* session) const noexcept { libssh2_session_free(session); }
};
using SessionPointer = std::unique_ptr<LIBSSH2_SESSION, SessionDeleter>;

/// The library's own words for its last error on `session`.
[[nodiscard]] std::string last_error_text(LIBSSH2_SESSION* session);

}  // namespace sshx::ssh
