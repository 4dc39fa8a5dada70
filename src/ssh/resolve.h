#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loop/loop.h"

namespace sshx::ssh {

/// The addresses of `host`, in the order of getaddrinfo(3) (RFC 6724). A literal address needs no
/// resolver. A name is looked up on a helper thread, which is left behind when the deadline passes
/// first. Returns: connect (`dns`; `timeout` at the deadline), cancelled.
[[nodiscard]] Task<Result<std::vector<asio::ip::tcp::endpoint>>>
resolve(asio::io_context& context, std::string host, std::uint16_t port, Deadline deadline,
        Cancellation& cancellation);

}  // namespace sshx::ssh
