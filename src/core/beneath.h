#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx {

/// The whole of file `name`, at most `limit` bytes, if it lies beneath folder `root`: a relative
/// name is relative to it, an absolute one must begin with it (as it was given, or without its
/// symbolic links). The kernel holds every step of the way to that (openat2(2), RESOLVE_BENEATH and
/// RESOLVE_NO_MAGICLINKS), so that ".." and links cannot lead out, whoever changes them meanwhile;
/// a link to an absolute path always leads out. Nothing in protected_folders() is read, and nothing
/// that holds a private key. Waits for the disk; a FIFO or a device is refused without blocking.
/// Returns: blocked (`outside_local_root`, `protected_file`), unsupported (`openat2`: the kernel is
/// older than 5.6), local_io as read_file.
[[nodiscard]] Result<std::string> read_beneath(const std::filesystem::path& root,
                                               const std::filesystem::path& name,
                                               std::size_t limit);

/// Whether a line among the first 64 KiB begins as a private key in PEM does (RFC 7468; OpenSSH's
/// own format, too).
[[nodiscard]] bool holds_private_key(std::string_view text) noexcept;

}  // namespace sshx
