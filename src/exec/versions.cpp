#include "exec/versions.h"

#include "ssh/version.h"

namespace sshx::exec {

std::string libssh2_version_text() { return ssh::libssh2_version_text(); }
std::string crypto_version_text() { return ssh::crypto_version_text(); }

}  // namespace sshx::exec
