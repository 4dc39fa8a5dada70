#pragma once

#include <memory>

#include "secret/store.h"

namespace sshx::secret {

/// The desktop's secret service (freedesktop.org Secret Service API), such as gnome-keyring or
/// KeePassXC, through libsecret. An entry has the attributes service=sshx and key=KEY and is made
/// in the default collection. libsecret is loaded at the first use, which takes milliseconds, and
/// works on a thread that is left behind when it does not answer in time. Never asks for a prompt:
/// a locked collection is an error.
[[nodiscard]] std::unique_ptr<Store> make_secret_service();

}  // namespace sshx::secret
