#pragma once

#include <string>

namespace sshx {

/// A new random identifier: 32 hex digits with a version-4 UUID's dashes (RFC 9562 §5.4).
[[nodiscard]] std::string new_id();

}  // namespace sshx
