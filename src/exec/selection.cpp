#include "exec/selection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/file.h"
#include "core/paths.h"
#include "core/text.h"
#include "inventory/filter.h"
#include "inventory/hosts_file.h"

namespace sshx::exec {
namespace {

using inventory::Host;
using inventory::Hosts;
using inventory::Reach;

constexpr std::size_t kNamesFileLimit = std::size_t{16} << 20U;
constexpr unsigned kShardLimit = 100'000;
constexpr std::size_t kNotesLimit = 10;
constexpr std::size_t kNamesInNote = 5;

/// A list that holds something, a text, or true.
bool is_given(const Json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end()) return false;
  if (found->is_boolean()) return found->get<bool>();
  return !found->is_array() || !found->empty();
}

/// The name that messages use: of the property, and of its flag.
struct Selector {
  const char* property;
  const char* flag;
};

/// All but `address`.
constexpr std::array<Selector, 7> kSelectors{{{"targets", "--target"},
                                              {"groups", "--group"},
                                              {"tags", "--tag"},
                                              {"all_hosts", "--all-hosts"},
                                              {"hosts_from", "--hosts-from"},
                                              {"exclude", "--exclude"},
                                              {"shard", "--shard"}}};
/// Those of them that bring hosts in.
constexpr std::size_t kSources = 5;

Status check_conflicts(const Json& request) {
  const auto beside = std::ranges::find_if(
      kSelectors, [&](const Selector& one) { return is_given(request, one.property); });
  if (request.contains("address") && beside != kSelectors.end()) {
    return config_error(
        "request_conflict",
        fmt::format("{} ({}) and an address are both given", beside->property, beside->flag),
        fmt::format("use either {} or --address", beside->flag));
  }
  if (is_given(request, "all_hosts") && is_given(request, "groups")) {
    return config_error("request_conflict",
                        "all_hosts (--all-hosts) and groups (--group) are both given",
                        "use --group for the hosts of groups, --all-hosts for those of all");
  }
  return {};
}

bool is_single(const Json& request) {
  if (request.contains("address")) return true;
  const auto others =
      std::ranges::any_of(kSelectors.begin() + 1, kSelectors.end(),
                          [&](const Selector& one) { return is_given(request, one.property); });
  return !others && request["targets"].size() == 1;
}

Error address_not_allowed() {
  return {ErrorKind::blocked, "address_not_allowed",
          "a literal address cannot be used here: only named hosts may be",
          "use --target NAME; sshx host list shows which there are"};
}

Result<Selection> select_address(const Json& request, const Reach& reach) {
  if (reach.is_limited()) return address_not_allowed();
  Selection selection{.targets = {}, .is_single = true, .notes = {}};
  SSHX_TRY(auto target, target_at(request["address"].get_ref<const std::string&>()));
  SSHX_CHECK(override_target(overrides_of(request), target));
  selection.targets.push_back(std::move(target));
  return selection;
}

std::string names_hint(const Hosts& hosts, const Reach& reach, std::string_view advice) {
  if (!hosts.all().empty()) return fmt::format("{}: {}", advice, hosts.name_list());
  return reach.is_limited() ? "no host of the inventory may be used here"
                            : "add a host: sshx host add NAME --address ADDRESS; or use --address";
}

/// A name that somebody gave, and where, for messages: "FILE:LINE: ", or empty.
struct GivenName {
  std::string name;
  std::string place;
};

Status check_stdin_is_free(const Json& request) {
  for (const auto* name : {"stdin_inherit", "script_stdin", "pty"}) {
    if (!is_given(request, name)) continue;
    return config_error("request_conflict",
                        fmt::format("hosts_from (--hosts-from -) and {} both read stdin", name),
                        "put the names into a file: --hosts-from FILE");
  }
  return {};
}

Result<std::string> read_names(const Json& request, const std::string& source) {
  if (source == "-") {
    SSHX_CHECK(check_stdin_is_free(request));
    return read_all(STDIN_FILENO, kNamesFileLimit, "the hosts on standard input");
  }
  SSHX_TRY(const auto path, expand_home(source));
  return read_file(path, kNamesFileLimit);
}

/// The names in `text`, one a line.
std::vector<GivenName> names_in(std::string_view text, std::string_view source) {
  std::vector<GivenName> names;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const auto name = trim(line.substr(0, line.find('#')));
    if (!name.empty()) names.push_back({std::string(name), fmt::format("{}:{}: ", source, number)});
  }
  return names;
}

Result<std::vector<GivenName>> given_names(const Json& request) {
  std::vector<GivenName> names;
  for (const auto& name : request.value("targets", std::vector<std::string>()))
    names.push_back({name, {}});
  const auto source = request.value("hosts_from", std::string());
  if (source.empty()) return names;
  SSHX_TRY(const auto text, read_names(request, source));
  auto listed = names_in(text, source == "-" ? "standard input" : source);
  std::move(listed.begin(), listed.end(), std::back_inserter(names));
  return names;
}

/// Marks for hosts that are sorted by name.
class Choice {
 public:
  explicit Choice(const Hosts& hosts) : hosts_(hosts), chosen_(hosts.all().size()) {}

  /// Whether there is a host of that name; it is chosen then.
  bool add(std::string_view name) {
    const auto* host = hosts_.find(name);
    if (host == nullptr) return false;
    chosen_[static_cast<std::size_t>(host - hosts_.all().data())] = true;
    return true;
  }

  void add(const inventory::Filter& filter) {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (filter.matches(hosts_.all()[i])) chosen_[i] = true;
    }
  }

  /// Whether there are hosts, chosen or not, that `pattern` means, a name or the beginning of names
  /// and "*"; they are not chosen then.
  bool remove(std::string_view pattern) {
    const auto [first, last] = range_of(pattern);
    std::fill(chosen_.begin() + first, chosen_.begin() + last, false);
    return first != last;
  }

  [[nodiscard]] std::vector<const Host*> hosts() const {
    std::vector<const Host*> hosts;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (chosen_[i]) hosts.push_back(&hosts_.all()[i]);
    }
    return hosts;
  }

 private:
  /// The hosts that `pattern` means stand side by side.
  [[nodiscard]] std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(std::string_view pattern) const {
    const auto& all = hosts_.all();
    const bool any_rest = pattern.ends_with('*');
    if (any_rest) pattern.remove_suffix(1);
    const auto means = [&](const Host& host) {
      return any_rest ? host.name.starts_with(pattern) : host.name == pattern;
    };
    const auto first =
        std::ranges::lower_bound(all, pattern, std::less<>(),
                                 [](const Host& host) -> std::string_view { return host.name; });
    const auto last = std::find_if_not(first, all.end(), means);
    return {first - all.begin(), last - all.begin()};
  }

  const Hosts& hosts_;
  std::vector<bool> chosen_;
};

Status add_names(const Json& request, const Reach& reach, const Hosts& hosts, Choice& choice) {
  SSHX_TRY(const auto names, given_names(request));
  for (const auto& [name, place] : names) {
    if (choice.add(name)) continue;
    auto error = reach.require(hosts, name).error();
    error.message = place + error.message;
    return error;
  }
  return {};
}

Status add_matching(const Json& request, const Hosts& hosts, Choice& choice) {
  const auto filter = inventory::filter_of(request);
  if (filter.groups.empty() && filter.tags.empty() && !is_given(request, "all_hosts")) return {};
  SSHX_CHECK(filter.check_known(hosts));
  choice.add(filter);
  return {};
}

Status exclude(const Json& request, const Reach& reach, const Hosts& hosts, Choice& choice) {
  for (const auto& pattern : request.value("exclude", std::vector<std::string>())) {
    if (choice.remove(pattern)) continue;
    if (!pattern.ends_with('*')) {
      auto error = reach.require(hosts, pattern).error();
      error.message = "exclude (--exclude): " + error.message;
      return error;
    }
    return config_error("unknown_target",
                        fmt::format("exclude (--exclude): no host's name begins as \"{}\" does",
                                    printable(pattern)),
                        names_hint(hosts, reach, "known hosts"));
  }
  return {};
}

/// The `part`-th of `parts`, from 1.
struct Shard {
  unsigned part = 1;
  unsigned parts = 1;
};

Result<Shard> shard_of(const Json& request) {
  const auto text = request.value("shard", std::string("1/1"));
  const auto* const end = text.data() + text.size();
  Shard shard;
  const auto [slash, first] = std::from_chars(text.data(), end, shard.part);
  const bool has_slash = first == std::errc() && slash != end && *slash == '/';
  const auto [stop, second] = has_slash
                                  ? std::from_chars(slash + 1, end, shard.parts)
                                  : std::from_chars_result{slash, std::errc::invalid_argument};
  const bool valid = second == std::errc() && stop == end && shard.part >= 1 &&
                     shard.part <= shard.parts && shard.parts <= kShardLimit;
  if (valid) return shard;
  return config_error(
      "range", fmt::format("shard (--shard) is {}", printable(text)),
      fmt::format("write K/N with K from 1 to N and N up to {}, such as 1/4", kShardLimit));
}

void keep_shard(const Shard& shard, std::vector<const Host*>& hosts) {
  std::size_t kept = 0;
  for (std::size_t i = shard.part - 1; i < hosts.size(); i += shard.parts) hosts[kept++] = hosts[i];
  hosts.resize(kept);
}

Result<std::vector<const Host*>> choose(const Json& request, const Reach& reach,
                                        const Hosts& hosts) {
  SSHX_TRY(const auto shard, shard_of(request));
  Choice choice(hosts);
  SSHX_CHECK(add_names(request, reach, hosts, choice));
  SSHX_CHECK(add_matching(request, hosts, choice));
  SSHX_CHECK(exclude(request, reach, hosts, choice));
  auto chosen = choice.hosts();
  if (chosen.empty()) {
    return config_error("no_match", "no host is selected", names_hint(hosts, reach, "known hosts"));
  }
  keep_shard(shard, chosen);
  return chosen;
}

/// What is run on one account under several names is run there several times, which may surprise.
std::vector<std::string> notes_on(const std::vector<Target>& targets) {
  std::map<std::string, std::vector<std::string>> names_of;
  for (const auto& target : targets) {
    const auto place = host_and_port(lower_ascii(target.address), target.port);
    names_of[fmt::format("{}@{}", target.user, place)].push_back(target.alias.value_or(""));
  }
  std::vector<std::string> notes;
  for (const auto& [account, names] : names_of) {
    if (names.size() == 1) continue;
    notes.push_back(fmt::format("{} are all {}: what is run goes there {} times",
                                listed(names, kNamesInNote), account, names.size()));
  }
  if (notes.size() <= kNotesLimit) return notes;
  const auto more = notes.size() - kNotesLimit;
  notes.resize(kNotesLimit);
  notes.push_back(fmt::format("{} more accounts are selected under several names", more));
  return notes;
}

Result<std::vector<Target>> targets_of(const std::vector<const Host*>& hosts, const Json& request,
                                       const Reach& reach) {
  const auto overrides = overrides_of(request);
  std::vector<Target> targets;
  targets.reserve(hosts.size());
  for (const auto* host : hosts) {
    if (reach.is_limited()) {
      SSHX_CHECK(check_own(overrides, *host));
    }
    targets.push_back(target_of(*host));
    SSHX_CHECK(override_target(overrides, targets.back()));
  }
  return targets;
}

}  // namespace

Result<Selection> select_targets(const Json& request, const Reach& reach) {
  SSHX_CHECK(check_conflicts(request));
  if (request.contains("address")) return select_address(request, reach);
  SSHX_TRY(const auto path, hosts_file_path());
  SSHX_TRY(const auto inventory, inventory::load_hosts(path));
  const auto hosts = reach.within(inventory);
  const bool asked =
      std::any_of(kSelectors.begin(), kSelectors.begin() + kSources,
                  [&](const Selector& one) { return is_given(request, one.property); });
  if (!asked) {
    return config_error("no_target", "no target is named",
                        names_hint(hosts, reach, "use --target with one of"));
  }
  SSHX_TRY(const auto chosen, choose(request, reach, hosts));
  Selection selection;
  selection.is_single = is_single(request);
  SSHX_TRY(selection.targets, targets_of(chosen, request, reach));
  selection.notes = notes_on(selection.targets);
  return selection;
}

}  // namespace sshx::exec
