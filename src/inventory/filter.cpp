#include "inventory/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/text.h"

namespace sshx::inventory {
namespace {

constexpr std::size_t kListed = 20;

/// What to do about `word`, where there are only `known`.
std::string hint_of(std::string_view word, std::string_view what,
                    const std::set<std::string>& known) {
  if (known.empty()) return fmt::format("no host has a {}; see sshx host list", what);
  const std::vector<std::string> candidates(known.begin(), known.end());
  const auto near = nearest(word, candidates);
  return fmt::format("{}known {}s: {}", near ? fmt::format("did you mean {}? ", *near) : "", what,
                     listed(candidates, kListed));
}

Error unknown(std::string_view what, std::string_view verb, const std::string& word,
              const std::set<std::string>& known) {
  return config_error(fmt::format("unknown_{}", what),
                      fmt::format("no host {} {} \"{}\"", verb, what, printable(word)),
                      hint_of(word, what, known));
}

}  // namespace

bool Filter::matches(const Host& host) const {
  const bool in_one = groups.empty() || std::ranges::any_of(groups, [&](const auto& group) {
                        return std::ranges::find(host.groups, group) != host.groups.end();
                      });
  return in_one && std::ranges::all_of(tags, [&](const auto& tag) {
           const auto found = host.tags.find(tag.first);
           return found != host.tags.end() && found->second == tag.second;
         });
}

Status Filter::check_known(const Hosts& hosts) const {
  std::set<std::string> known_groups;
  std::set<std::string> known_tags;
  for (const auto& host : hosts.all()) {
    known_groups.insert(host.groups.begin(), host.groups.end());
    for (const auto& [key, value] : host.tags) known_tags.insert(fmt::format("{}={}", key, value));
  }
  for (const auto& group : groups) {
    if (!known_groups.contains(group)) return unknown("group", "is in", group, known_groups);
  }
  for (const auto& [key, value] : tags) {
    const auto tag = fmt::format("{}={}", key, value);
    if (!known_tags.contains(tag)) return unknown("tag", "has", tag, known_tags);
  }
  return {};
}

Filter filter_of(const Json& request) {
  Filter filter;
  filter.groups = request.value("groups", filter.groups);
  for (const auto& tag : request.value("tags", std::vector<std::string>())) {
    const auto equals = std::min(tag.find('='), tag.size());
    filter.tags.emplace_back(tag.substr(0, equals), tag.substr(std::min(equals + 1, tag.size())));
  }
  return filter;
}

}  // namespace sshx::inventory
