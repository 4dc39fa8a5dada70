#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sshx {

/// Which part of an option's value is the secret.
enum class Part : std::uint8_t { all, after_colon, after_percent };
/// Where the value stands.
enum class Place : std::uint8_t { attached, next, either };

struct SecretOption {
  std::string_view command;
  std::string_view option;
  Place place;
  Part part;
};

/// Options that carry a secret and whose names do not say so.
[[nodiscard]] std::span<const SecretOption> secret_options() noexcept;

/// Whether the program has a subcommand "login" whose -p is a password; elsewhere its -p is
/// something else.
[[nodiscard]] bool has_login_command(std::string_view program) noexcept;

/// Whether the program reads a password from stdin, whatever its options.
[[nodiscard]] bool reads_password_from_stdin(std::string_view program) noexcept;

}  // namespace sshx
