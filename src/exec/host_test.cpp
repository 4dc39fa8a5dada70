#include "exec/host_test.h"

#include "exec/result.h"
#include "ssh/channel.h"

namespace sshx::exec {
namespace {

Task<Status> try_session(Runtime runtime, const SessionRequest& request, HostTestResult& result) {
  PrivateKeys keys;
  const auto deadline = after(request.connect_timeout_seconds);
  SSHX_CO_TRY(auto connection, co_await open_session(runtime, request, keys, deadline,
                                                     result.observed, result.warnings));
  const auto channel = co_await ssh::Channel::open(connection, deadline);
  if (!channel) co_return channel.error();
  connection.disconnect();
  co_return Status();
}

}  // namespace

HostTestResult test_host(const SessionRequest& request) {
  const auto started = Clock::now();
  HostTestResult result;
  auto status =
      run_cancellable([&](Runtime runtime) { return try_session(runtime, request, result); });
  if (!status) result.error = std::move(status).error();
  result.duration_ms = milliseconds_between(started, Clock::now());
  return result;
}

Json host_test_json(const HostTestResult& result) {
  const auto* error = result.error ? &*result.error : nullptr;
  const auto& observed = result.observed;
  Json json = Json::object();
  json["success"] = error == nullptr;
  json["phase"] = to_string(error != nullptr ? error->phase() : Phase::complete);
  json["error"] = error_json(error, kNothingRan);
  json["error_kind"] = error != nullptr ? Json(to_string(error->kind)) : Json(nullptr);
  json["auth_method"] = observed.auth_method.empty() ? Json(nullptr) : Json(observed.auth_method);
  json["host_key_fingerprint"] =
      observed.host_key ? Json(fingerprint(*observed.host_key)) : Json(nullptr);
  json["timings"] = timings_json(observed);
  json["duration_ms"] = result.duration_ms;
  return json;
}

}  // namespace sshx::exec
