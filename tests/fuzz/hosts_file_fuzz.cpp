// hosts.json: what is accepted keeps every rule and survives being written; what is refused says
// where.

#include "fuzz/memory_file.h"
#include "inventory/hosts_file.h"

namespace sshx::fuzz {
namespace {

using inventory::check_host;
using inventory::Host;
using inventory::host_from_json;
using inventory::host_to_json;
using inventory::Hosts;

void check_host_of(const Hosts& hosts, const Host& host) {
  require(check_host(host).has_value(), "a loaded host keeps every rule");
  require(hosts.find(host.name) == &host, "a loaded host is found by its name");
  const auto again = host_from_json(host.name, host_to_json(host));
  require(again && *again == host, "a host reads back from its JSON");
  // An address of the file is one that may be typed as well.
  const bool v6 = host.address.find(':') != std::string::npos;
  const auto typed =
      (v6 ? "[" + host.address + "]" : host.address) + ":" + std::to_string(host.port);
  const auto address = inventory::parse_address(typed);
  require(address && address->host == host.address && address->port == host.port,
          "address and port of a host can be typed");
}

void check(std::string_view text) {
  const MemoryFile file(text);
  const auto hosts = inventory::load_hosts(file.path());
  if (!hosts) {
    require(hosts.error().kind == ErrorKind::config && hosts.error().code == "hosts_file",
            "a file that cannot be read is config/hosts_file");
    require_presentable(hosts.error());
    return;
  }
  const auto& all = hosts->all();
  for (const auto& host : all) check_host_of(*hosts, host);
  require(std::adjacent_find(all.begin(), all.end(),
                             [](const Host& a, const Host& b) { return a.name >= b.name; }) ==
              all.end(),
          "hosts are sorted, each name once");
  const auto missing = hosts->require("no such host");
  require(!missing && missing.error().code == "unknown_target",
          "a name that is no host is refused");
  require_presentable(missing.error());
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
