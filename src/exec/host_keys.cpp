#include "exec/host_keys.h"

namespace sshx::exec {
namespace {

/// The key of one type; nothing when the server has none of it.
Task<Result<std::optional<PublicKey>>> ask_for_key(Runtime runtime, const Target& target,
                                                   std::string type, Deadline deadline) {
  ssh::Observations observed;
  ssh::HostKeyPolicy policy;
  policy.preferred_types = {std::move(type)};
  policy.preferred_only = true;
  policy.check = [](const PublicKey&) { return Status(); };
  const ssh::Destination destination{target.address, target.port, target.user};
  auto connection =
      co_await ssh::Connection::open(runtime, destination, policy, deadline, observed);
  if (connection) {
    connection->disconnect();
    co_return observed.host_key;
  }
  if (connection.error().code == "no_common_algorithm") co_return std::optional<PublicKey>();
  co_return std::move(connection).error();
}

Task<Result<std::vector<OfferedKey>>> ask_for_keys(Runtime runtime, const Target& target,
                                                   const Trust& trust,
                                                   const std::vector<std::string>& types,
                                                   Deadline deadline) {
  std::vector<OfferedKey> offered;
  for (const auto& type : types) {
    auto key = co_await ask_for_key(runtime, target, type, deadline);
    if (!key) co_return std::move(key).error();
    if (!*key) continue;
    const auto verdict = trust.known_hosts.verdict(target.address, target.port, **key);
    offered.push_back({std::move(**key), verdict});
  }
  if (offered.empty()) {
    co_return Error{ErrorKind::protocol, "no_common_algorithm",
                    "the server has a key of none of the types asked for",
                    "leave out --key-type to ask for all"};
  }
  co_return offered;
}

}  // namespace

Result<std::vector<OfferedKey>> scan_host_keys(const Target& target, const Trust& trust,
                                               const std::vector<std::string>& types,
                                               double timeout_seconds) {
  const auto& wanted = types.empty() ? ssh::supported_host_key_types() : types;
  return run_cancellable([&](Runtime runtime) {
    return ask_for_keys(runtime, target, trust, wanted, after(timeout_seconds));
  });
}

}  // namespace sshx::exec
