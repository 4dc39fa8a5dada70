#include "inventory/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace sshx::inventory {
namespace {

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

Error not_allowed(std::string_view name, const Hosts& admitted) {
  return {ErrorKind::blocked, "target_not_allowed",
          fmt::format("no host that may be used here is named \"{}\"", printable(name)),
          admitted.all().empty() ? "no host of the inventory may be used here"
                                 : fmt::format("use one of: {}", admitted.name_list())};
}

}  // namespace

Reach::Reach(std::vector<std::string> names, std::vector<std::string> groups)
    : names_(std::move(names)), groups_(std::move(groups)) {}

bool Reach::admits(std::string_view name, std::span<const std::string> groups) const {
  if (!is_limited()) return true;
  const bool named =
      std::ranges::any_of(names_, [&](const std::string& pattern) { return fits(pattern, name); });
  return named || std::ranges::any_of(groups, [&](const std::string& group) {
           return std::ranges::find(groups_, group) != groups_.end();
         });
}

Hosts Reach::within(const Hosts& hosts) const {
  std::vector<Host> admitted;
  std::ranges::copy_if(hosts.all(), std::back_inserter(admitted),
                       [&](const Host& host) { return admits(host.name, host.groups); });
  return Hosts(std::move(admitted));
}

Result<Host> Reach::require(const Hosts& hosts, std::string_view name) const {
  if (!is_limited()) return hosts.require(name);
  const auto admitted = within(hosts);
  if (const auto* host = admitted.find(name)) return *host;
  return not_allowed(name, admitted);
}

}  // namespace sshx::inventory
