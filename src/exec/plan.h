#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "exec/admission.h"
#include "exec/payload.h"
#include "exec/session.h"

namespace sshx::exec {

/// What the caller says the command does. Recorded, used for retry advice, never for admission or
/// risk.
enum class Intent : std::uint8_t { read, change, unknown };

[[nodiscard]] std::string_view to_string(Intent intent) noexcept;

/// How dangerous an operation is, as far as it can be told (design §4).
enum class Risk : std::uint8_t { read, mutation, privileged, destructive };

[[nodiscard]] std::string_view to_string(Risk risk) noexcept;

enum class InputMode : std::uint8_t { empty, given, inherited };

/// Whether a second session may be opened to end a command and to look whether it is gone.
enum class SecondChannel : std::uint8_t { automatic, never };

/// What an operation will do on its target. Of stdin not even a digest is shown, since it may be a
/// short secret.
struct ActionSummary {
  Intent intent = Intent::unknown;
  Payload payload;
  InputMode input = InputMode::empty;
  std::size_t stdin_bytes = 0;  ///< Of a given input.
  bool stdin_held = false;      ///< It stays open until the command ends.
  SecondChannel second_channel = SecondChannel::automatic;
  std::optional<Bypass> bypass;
};

/// The effective limits, echoed in plan and result.
struct Limits {
  long long connect_timeout_ms = 0;
  long long timeout_ms = 0;
  long long max_output_bytes = 0;
  long long server_alive_interval_ms = 0;  ///< 0: never.
  long long server_alive_count_max = 0;
  std::optional<long long> host_timeout_ms = std::nullopt;
  std::optional<long long> global_timeout_ms = std::nullopt;
  bool fail_fast = false;  ///< The first failure stops the start of further targets.
  std::optional<long long> max_failures = std::nullopt;  ///< So many failures do.
  /// Most targets at the same time; nothing in a run of one target.
  std::optional<long long> concurrency = std::nullopt;
  std::optional<long long> per_address = std::nullopt;  ///< Most connections to one of them.
};

/// A reviewed-before-run description (sshx.plan.v1) of one request, made offline.
struct Plan {
  std::string hash;  ///< "sha256:..." over the canonical form of what the request means.
  Risk risk = Risk::mutation;
  std::vector<std::string> effects;
  struct Unresolved {
    std::string what;
    std::string reason;
  };
  /// What cannot be known offline; a plan with any cannot be bound.
  std::vector<Unresolved> unresolved;
  Json document;
};

/// Plans `operation` on the targets of `sessions`, which share their trust and may be none. Neither
/// their order nor their names count for the hash. Reads the .pub file beside each configured key,
/// once; opens nothing else.
[[nodiscard]] Plan make_plan(std::string_view operation, std::span<const SessionRequest> sessions,
                             const ActionSummary& action, const Limits& limits);

/// The contract's `action` object. The command and the variables are redacted there, a script is
/// not in it; `payload_sha256` is of the exact bytes of either.
[[nodiscard]] Json action_json(const ActionSummary& action);
[[nodiscard]] Json limits_json(const Limits& limits);

}  // namespace sshx::exec
