#pragma once

#include <string>
#include <string_view>

namespace sshx {

/// What stands where a secret stood.
inline constexpr std::string_view kRedacted = "[redacted]";

/// A command line, message or URL without the secrets that it may carry: values of assignments and
/// options whose name says secret (TOKEN=x, --password x, --token=x, mysql -px), user information
/// in URLs, bearer and basic credentials, private-key blocks. Ordinary text ("password: changed")
/// stays. Linear in the length of `text`.
[[nodiscard]] std::string redact(std::string_view text);

}  // namespace sshx
