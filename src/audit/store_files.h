#pragma once

#include <filesystem>

#include "core/result.h"

namespace sshx::audit {

/// Where the store really is: SQLite follows a symbolic link too, and puts its own files beside the
/// target.
[[nodiscard]] std::filesystem::path real_store_path(const std::filesystem::path& file);

/// The folder that the file is in; "." for a bare name.
[[nodiscard]] std::filesystem::path store_folder(const std::filesystem::path& file);

/// Whether there is a file that may be opened. Returns: local_io (`not_a_file`: opening a device or
/// a FIFO could block; `permission`, `io`).
[[nodiscard]] Result<bool> is_store_there(const std::filesystem::path& file);

/// Refuses a store that others could have written: the file, its folder, or what SQLite keeps
/// beside it. A sticky folder such as /tmp passes. Returns: config (`unsafe_permissions`),
/// local_io.
[[nodiscard]] Status check_store_files(const std::filesystem::path& file);

/// Makes what is missing, folder (0700) and empty file (0600), and checks what is there. Waits for
/// the disk. Returns: as is_store_there and check_store_files.
[[nodiscard]] Status prepare_store_files(const std::filesystem::path& file);

}  // namespace sshx::audit
