#include "ssh/version.h"

#include "ssh/libssh2.h"

namespace sshx::ssh {

std::string libssh2_version_text() { return libssh2_version(0); }

std::string last_error_text(LIBSSH2_SESSION* session) {
  char* text = nullptr;
  int length = 0;
  libssh2_session_last_error(session, &text, &length, 0);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace sshx::ssh
