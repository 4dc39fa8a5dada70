#include "cli/host_command.h"

#include <fmt/format.h>

#include <utility>

#include "cli/host_properties.h"
#include "cli/host_test_command.h"
#include "cli/host_trust_command.h"
#include "cli/hosts_document.h"
#include "core/paths.h"
#include "core/text.h"
#include "exec/trust.h"
#include "inventory/filter.h"
#include "inventory/hosts_file.h"

namespace sshx::cli {
namespace {

using inventory::Host;
using inventory::Hosts;

HostsAnswer answer_with(const Invocation& invocation, std::filesystem::path path, Host host) {
  HostsAnswer answer{.operation = std::string(invocation.operation->name),
                     .path = std::move(path),
                     .hosts = {},
                     .warnings = {},
                     .error = std::nullopt};
  answer.hosts.push_back({.host = std::move(host)});
  return answer;
}

/// The document with --json; else the note, which --quiet hides.
Result<int> answer_change(const Invocation& invocation, Terminal& terminal,
                          const HostsAnswer& answer, std::string_view note) {
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(hosts_document(answer)) + "\n"));
  } else {
    terminal.note(note);
  }
  return 0;
}

std::string place_of(const Host& host) { return host_and_port(host.address, host.port); }

Result<int> add(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const Host host, new_host(invocation.request));
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_CHECK(inventory::change_hosts(path, [&](Hosts& hosts) -> Status {
    if (hosts.find(host.name) != nullptr) {
      return config_error("exists", fmt::format("there is a host {} already", host.name),
                          fmt::format("change it with sshx host update {}", host.name));
    }
    hosts.put(host);
    return {};
  }));
  return answer_change(
      invocation, terminal, answer_with(invocation, path, host),
      fmt::format("added {} ({}); next: sshx host trust {}", host.name, place_of(host), host.name));
}

Result<int> update(const Invocation& invocation, Terminal& terminal) {
  const Json& request = invocation.request;
  if (request.size() == 1) {
    return config_error(
        "required",
        fmt::format("nothing to change on {} is given", request["name"].get<std::string>()),
        "see sshx host update --help");
  }
  SSHX_TRY(const auto path, hosts_file_path());
  Host changed;
  SSHX_CHECK(inventory::change_hosts(path, [&](Hosts& hosts) -> Status {
    SSHX_TRY(const Host before, hosts.require(request["name"].get<std::string>()));
    SSHX_TRY(changed, updated_host(before, request));
    hosts.put(changed);
    return {};
  }));
  return answer_change(invocation, terminal, answer_with(invocation, path, changed),
                       fmt::format("updated {} ({})", changed.name, place_of(changed)));
}

Result<int> remove(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, hosts_file_path());
  Host removed;
  SSHX_CHECK(inventory::change_hosts(path, [&](Hosts& hosts) -> Status {
    SSHX_TRY(removed, hosts.require(invocation.request["name"].get<std::string>()));
    hosts.remove(removed.name);
    return {};
  }));
  return answer_change(invocation, terminal, answer_with(invocation, path, removed),
                       fmt::format("removed {} ({})", removed.name, place_of(removed)));
}

Result<int> show(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_TRY(const Hosts hosts, inventory::load_hosts(path));
  SSHX_TRY(const Host host, hosts.require(invocation.request["name"].get<std::string>()));
  SSHX_TRY(const auto trust, exec::load_trust(invocation.request));
  auto answer = answer_with(invocation, path, host);
  answer.warnings = trust.known_hosts.warnings();
  auto& entry = answer.hosts.front();
  entry.keys = Json::array();
  for (const auto& key : trust.known_hosts.stored_keys(host.address, host.port)) {
    const auto verdict = trust.known_hosts.verdict(host.address, host.port, key);
    entry.keys.push_back(key_json(key.type, fingerprint(key), inventory::to_string(verdict)));
  }
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(hosts_document(answer)) + "\n"));
    return 0;
  }
  for (const auto& warning : answer.warnings) terminal.note(warning);
  SSHX_CHECK(terminal.out(host_sheet(entry)));
  return 0;
}

std::string nothing_listed(const Hosts& hosts, const inventory::Reach& reach) {
  if (!hosts.all().empty()) return "no host matches";
  return reach.is_limited() ? "no host of the inventory may be used here"
                            : "no hosts yet; add one: sshx host add NAME --address ADDRESS";
}

Result<int> list(const Invocation& invocation, Terminal& terminal) {
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_TRY(const Hosts all, inventory::load_hosts(path));
  const auto& reach = invocation.presentation.confinement.reach;
  const Hosts hosts = reach.within(all);
  HostsAnswer answer{
      .operation = "host.list", .path = path, .hosts = {}, .warnings = {}, .error = std::nullopt};
  const auto filter = inventory::filter_of(invocation.request);
  for (const auto& host : hosts.all()) {
    if (filter.matches(host)) answer.hosts.push_back({.host = host});
  }
  if (invocation.presentation.json) {
    SSHX_CHECK(terminal.out(dump_json(hosts_document(answer)) + "\n"));
  } else {
    if (answer.hosts.empty()) terminal.note(nothing_listed(hosts, reach));
    SSHX_CHECK(terminal.out(hosts_table(answer)));
  }
  return 0;
}

}  // namespace

Result<int> run_host_command(const Invocation& invocation, Terminal& terminal) {
  const auto name = invocation.operation->name;
  if (name == "host.add") return add(invocation, terminal);
  if (name == "host.update") return update(invocation, terminal);
  if (name == "host.remove") return remove(invocation, terminal);
  if (name == "host.show") return show(invocation, terminal);
  if (name == "host.list") return list(invocation, terminal);
  if (name == "host.trust") return run_host_trust_command(invocation, terminal);
  return run_host_test_command(invocation, terminal);
}

}  // namespace sshx::cli
