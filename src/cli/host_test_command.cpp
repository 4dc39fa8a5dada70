#include "cli/host_test_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/hosts_document.h"
#include "core/paths.h"
#include "core/text.h"
#include "exec/host_test.h"
#include "inventory/hosts_file.h"

namespace sshx::cli {
namespace {

using inventory::Host;
using inventory::Hosts;

constexpr int kSomeFailed = 1;
constexpr int kCancelled = 255;

Result<std::vector<Host>> selected_hosts(const Json& request, const Hosts& hosts) {
  const bool all = request.at("all_hosts").get<bool>();
  if (all && request.contains("name")) {
    return config_error("request_conflict", "both a host and --all are given", "use one of them");
  }
  if (all) return hosts.all();
  if (request.contains("name")) {
    SSHX_TRY(const Host host, hosts.require(request["name"].get<std::string>()));
    return std::vector<Host>{host};
  }
  std::vector<std::string> names;
  for (const auto& host : hosts.all()) names.push_back(host.name);
  return config_error("no_target", "no host is named",
                      names.empty()
                          ? "add one: sshx host add NAME --address ADDRESS"
                          : fmt::format("name one of {}, or use --all", join(names, ", ")));
}

exec::HostTestResult test(const Host& host, const Json& request) {
  Json session = Json::object();
  session["targets"] = Json::array({host.name});
  for (const auto* name : {"known_hosts", "connect_timeout_seconds"}) {
    if (request.contains(name)) session[name] = request[name];
  }
  auto planned = exec::plan_session(session);
  if (planned) return exec::test_host(*planned);
  exec::HostTestResult result;
  result.error = std::move(planned).error();
  return result;
}

std::string line_of(const Host& host, const exec::HostTestResult& result, std::size_t width) {
  if (!result.error) {
    return fmt::format("{:<{}}  ok      {}  {} ms\n", host.name, width, result.observed.auth_method,
                       result.duration_ms);
  }
  return fmt::format("{:<{}}  failed  {}/{}: {}\n", host.name, width, to_string(result.error->kind),
                     result.error->code, printable(result.error->message));
}

/// Tests each host in turn and collects what came of it.
class TestRun {
 public:
  TestRun(const Invocation& invocation, Terminal& terminal, HostsAnswer& answer)
      : invocation_(invocation), terminal_(terminal), answer_(answer) {
    for (const auto& entry : answer.hosts) width_ = std::max(width_, entry.host.name.size());
  }

  /// Stops where the caller cancelled; the hosts after that keep no test.
  Status run() {
    for (auto& entry : answer_.hosts) {
      const auto result = test(entry.host, invocation_.request);
      entry.test = exec::host_test_json(result);
      for (const auto& warning : result.warnings) answer_.warnings.push_back(warning);
      SSHX_CHECK(tell(entry.host, result));
      if (result.error) note_failure(entry.host, *result.error);
      if (cancelled_) break;
    }
    summarise();
    return {};
  }

  [[nodiscard]] int exit_code() const noexcept {
    if (cancelled_) return kCancelled;
    return failures_ == 0 ? 0 : kSomeFailed;
  }

 private:
  Status tell(const Host& host, const exec::HostTestResult& result) {
    if (invocation_.presentation.json) return {};
    SSHX_CHECK(terminal_.out(line_of(host, result, width_)));
    for (const auto& warning : result.warnings) terminal_.note(warning);
    if (result.error && !result.error->hint.empty()) {
      terminal_.note(fmt::format("{}: hint: {}", host.name, result.error->hint));
    }
    return {};
  }

  void note_failure(const Host& host, const Error& error) {
    ++failures_;
    cancelled_ = error.kind == ErrorKind::cancelled;
    if (answer_.error && !cancelled_) return;
    answer_.error = error;
    failed_host_ = host.name;
  }

  /// The document's own error is the first failure's, with the count where there were several
  /// hosts.
  void summarise() {
    if (!answer_.error || answer_.hosts.size() == 1) return;
    answer_.error->message =
        fmt::format("{} of {} hosts failed; {}: {}", failures_, answer_.hosts.size(), failed_host_,
                    answer_.error->message);
  }

  const Invocation& invocation_;
  Terminal& terminal_;
  HostsAnswer& answer_;
  std::size_t width_ = 0;
  std::size_t failures_ = 0;
  bool cancelled_ = false;
  std::string failed_host_;
};

}  // namespace

Result<int> run_host_test_command(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_TRY(const Hosts hosts, inventory::load_hosts(path));
  SSHX_TRY(const auto chosen, selected_hosts(invocation.request, hosts));
  // A fault of the known_hosts files is the request's, not a host's.
  SSHX_TRY(const auto trust, exec::load_trust(invocation.request));
  HostsAnswer answer{.operation = "host.test",
                     .path = path,
                     .hosts = {},
                     .warnings = trust.known_hosts.warnings(),
                     .error = std::nullopt};
  for (const auto& host : chosen) answer.hosts.push_back({.host = host});
  TestRun run(invocation, terminal, answer);
  SSHX_CHECK(run.run());
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(hosts_document(answer)) + "\n"));
  } else if (chosen.empty()) {
    terminal.note("no hosts yet; add one: sshx host add NAME --address ADDRESS");
  }
  return run.exit_code();
}

}  // namespace sshx::cli
