#pragma once

#include <string>

namespace sshx::exec {

/// The version of libssh2 that is linked in.
[[nodiscard]] std::string libssh2_version_text();
/// The version of OpenSSL's libcrypto in use.
[[nodiscard]] std::string crypto_version_text();

}  // namespace sshx::exec
