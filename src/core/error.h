#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sshx {

/// The closed list of what can go wrong (contract: `error_kind`). Spelled exactly as in JSON.
enum class ErrorKind : std::uint8_t {
  config,
  blocked,
  plan_mismatch,
  plan_unresolved,
  approval,
  secret,
  local_io,
  connect,
  host_key,
  auth,
  timeout,
  cancelled,
  connection_lost,
  protocol,
  unsupported,
  busy,
  remote_exit,
  exit_missing,
  remote_io,
  precondition,
  verification_failed,
  adapter,
  internal,
};

/// Where on its path a request was (contract: `phase`), in the order in which a request passes
/// them.
enum class Phase : std::uint8_t {
  resolve,
  admission,
  connect,
  authenticate,
  execute,
  collect,
  persist,
  complete,
};

enum class Retryable : std::uint8_t { no, yes };

/// One row of the table of kinds: the only home of a kind's name, usual phase, retry advice and
/// meaning.
struct ErrorKindInfo {
  ErrorKind kind;
  std::string_view name;
  Phase phase;
  Retryable retryable;
  std::string_view meaning;
};

/// All kinds, in the order of the enum.
[[nodiscard]] const std::array<ErrorKindInfo, 23>& error_kinds() noexcept;

/// The table row of a kind.
[[nodiscard]] const ErrorKindInfo& info(ErrorKind kind) noexcept;
[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;
[[nodiscard]] std::string_view to_string(Phase phase) noexcept;
/// The kind of that name; nothing when there is none.
[[nodiscard]] std::optional<ErrorKind> error_kind_from(std::string_view name) noexcept;

/// Why something failed. `code` is finer than the kind ("refused", "changed", ...); `message` says
/// what failed, on what; `hint` what to do about it. None of them ever holds a secret.
// The analyzer loses the index of the std::variant in Result, and moves an Error that never was.
// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string code;
  std::string message;
  std::string hint;
  /// Set where the phase differs from the kind's usual one.
  std::optional<Phase> at = std::nullopt;

  [[nodiscard]] Phase phase() const noexcept { return at.value_or(info(kind).phase); }
};

/// An Error of kind `config`: the request, a file or the environment is wrong; nothing was started.
[[nodiscard]] Error config_error(std::string code, std::string message, std::string hint = {});

/// An Error of kind `local_io` for a failed system call on `path`: "cannot OPERATION PATH: REASON".
[[nodiscard]] Error io_error(std::string_view operation, std::string_view path, int error_number);

}  // namespace sshx
