#pragma once

// What the tests of plan, result, trust and identities begin from.

#include <string>
#include <string_view>

#include "core/request.h"
#include "core/sha256.h"
#include "exec/result.h"
#include "exec/session.h"
#include "unit/loop/scratch.h"

namespace sshx::test {

/// `request` of `run` with its defaults, as the operations get it.
inline Json checked_run(Json request) {
  if (!request.contains("command")) request["command"] = "true";
  auto checked = check_request(*find_operation("run"), request, Surface::cli);
  EXPECT_TRUE(checked.has_value()) << dump_json(request);
  return checked.has_value() ? *checked : request;
}

inline exec::Target web_target() {
  exec::Target target;
  target.alias = "web-1";
  target.address = "192.0.2.5";
  target.port = 2222;
  target.user = "alice";
  target.groups = {"web"};
  target.tags = {{"env", "prod"}};
  return target;
}

inline exec::ActionSummary command_action(const std::string& command) {
  exec::ActionSummary action;
  action.payload.bytes = command;
  return action;
}

inline exec::Limits some_limits() {
  return {.connect_timeout_ms = 10000,
          .timeout_ms = 60000,
          .max_output_bytes = 1000,
          .server_alive_interval_ms = 5000,
          .server_alive_count_max = 3};
}

inline inventory::KnownHosts known_hosts_in(const std::filesystem::path& file) {
  const std::vector<std::filesystem::path> files{file};
  auto loaded = inventory::KnownHosts::load(files);
  EXPECT_TRUE(loaded.has_value());
  return loaded.has_value() ? *loaded : inventory::KnownHosts();
}

inline Error some_error(ErrorKind kind, const std::string& code) {
  return {.kind = kind, .code = code, .message = "what failed, on what", .hint = "what to do"};
}

/// A `run` of which nothing was seen yet.
inline exec::ExecutionResult planned() {
  exec::ExecutionResult result;
  result.operation = "run";
  result.identity.execution_id = "11111111-1111-4111-8111-111111111111";
  result.identity.run_id = "22222222-2222-4222-8222-222222222222";
  result.identity.started_at = WallTime(std::chrono::seconds(1'790'000'000));
  result.target = web_target();
  result.action = command_action("systemctl restart app");
  result.limits = some_limits();
  result.plan_hash = sha256_label("plan");
  result.effects = {"unknown"};
  return result;
}

inline exec::ExecutionResult::Output captured(std::string_view bytes, std::size_t limit = 1000) {
  exec::StreamCapture capture(limit);
  capture.append(bytes);
  return {.text = capture.text(), .total = capture.total()};
}

/// A success with everything in it.
inline exec::ExecutionResult full() {
  exec::ExecutionResult result = planned();
  result.outcome.request = ssh::Acknowledgement::success;
  result.outcome.exit_status = 0;
  result.outcome.closed = true;
  result.observed = {.resolve_ms = 1,
                     .connect_ms = 2,
                     .auth_ms = 3,
                     .exec_ms = 4,
                     .peer_address = "192.0.2.5",
                     .host_key = PublicKey{.type = "ssh-ed25519", .blob = "blob"},
                     .auth_method = "publickey"};
  result.standard_output = captured("out");
  result.standard_error = captured("err");
  result.duration_ms = 12;
  return result;
}

}  // namespace sshx::test
