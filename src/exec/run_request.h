#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "exec/confinement.h"
#include "exec/event_stream.h"
#include "exec/plan.h"
#include "exec/session.h"

namespace sshx::exec {

/// What documents and evidence call the operation.
inline constexpr std::string_view kRunOperation = "run";

/// A checked, resolved and planned request to run one command or script on one or more targets.
/// Made offline.
struct RunRequest {
  Json request;  ///< As checked, with defaults.
  /// One for each target, sorted by name; never empty but for an empty shard.
  std::vector<SessionRequest> sessions;
  /// Exactly one target was named, so that the answer is one result.
  bool is_single = true;
  ActionSummary action;
  Limits limits;
  long long concurrency = 1;  ///< Targets at once.
  std::string input;          ///< The bytes of a given stdin.
  double timeout_seconds = 60;
  std::optional<double> host_timeout_seconds;
  std::optional<double> global_timeout_seconds;
  ssh::LivenessLimits liveness;
  std::vector<std::string> notes;  ///< What the caller should hear, known beforehand.
  Plan plan;
};

/// The rules of `run` across properties, then target, trust, identities and plan. Reads the hosts
/// file, public keys, known_hosts and files with stdin or a script; waits for stdin where the
/// script comes from there; opens no socket and writes nothing. `request` went through
/// check_request. Returns: what check_may_run, read_payload and plan_session return, config
/// (`range`).
[[nodiscard]] Result<RunRequest> prepare_run(const Json& request,
                                             const Confinement& confinement = {});

/// The caller's own name for the request.
[[nodiscard]] std::optional<std::string> request_id_of(const RunRequest& run);

/// What its stream of events begins with.
[[nodiscard]] RunStart run_start(const RunRequest& run);

/// The document sshx.request.v1 of a dry-run.
[[nodiscard]] Json preview_document(const RunRequest& run);
/// The same for a request that could not be prepared.
[[nodiscard]] Json invalid_preview_document(const Json& request, const Error& error);

}  // namespace sshx::exec
