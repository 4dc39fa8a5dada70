// known_hosts: the verdict and the lists that are made from the same lines agree with each other,
// with another matcher, and with what append_known_host() adds. The first line is "HOST PORT", the
// rest is the file.

#include <array>
#include <vector>

#include "core/text.h"
#include "core/wire.h"
#include "fuzz/memory_file.h"
#include "inventory/host.h"
#include "inventory/known_hosts.h"

namespace sshx::fuzz {
namespace {

using inventory::HostKeyVerdict;
using inventory::KnownHosts;

/// Of the right form, and nobody's.
PublicKey made_key(const char* type, std::initializer_list<std::string_view> fields) {
  WireWriter writer;
  writer.string(type);
  for (const auto field : fields) writer.string(field);
  return {type, writer.bytes()};
}

const std::array<PublicKey, 3>& keys() {
  static const std::string kPoint = std::string(1, '\4') + std::string(64, 'C');
  static const std::array<PublicKey, 3> kKeys{
      made_key("ssh-ed25519", {std::string(32, 'A')}),
      made_key("ssh-ed25519", {std::string(32, 'B')}),
      made_key("ecdsa-sha2-nistp256", {"nistp256", kPoint}),
  };
  return kKeys;
}

template <class T>
bool contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// -- Another matcher, by dynamic programming ------------------------------------------------------

bool glob(std::string_view text, std::string_view pattern) {
  // reach[i]: the pattern so far matches the first i characters.
  std::vector<char> reach(text.size() + 1, 0);
  reach[0] = 1;
  for (const char p : pattern) {
    std::vector<char> next(text.size() + 1, 0);
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (p == '*') {
        next[i] = static_cast<char>(reach[i] != 0 || (i > 0 && next[i - 1] != 0));
      } else if (i > 0 && (p == '?' || p == text[i - 1])) {
        next[i] = reach[i - 1];
      }
    }
    reach = std::move(next);
  }
  return reach.back() != 0;
}

bool glob_list(std::string_view name, const std::string& patterns) {
  bool found = false;
  for (const auto& pattern : split(patterns, ',')) {
    const bool negated = pattern.starts_with('!');
    if (!glob(name, std::string_view(pattern).substr(negated ? 1 : 0))) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

void check_plain_names(const inventory::KnownHostsLine& line, const std::string& name) {
  const auto names = line.plain_names();
  if (!names) return;
  require(line.matches(name) == (std::find(names->begin(), names->end(), name) != names->end()),
          "names that are spelt out are those that match");
}

void check_lines(std::string_view content, const std::string& name) {
  constexpr std::size_t kLongest = 1023;  // longer patterns have a rule of their own
  while (!content.empty()) {
    const auto line = inventory::parse_known_hosts_line(take_line(content));
    if (!line) {
      require_presentable(line.error());
    } else if (*line && (*line)->salt.empty() && (*line)->patterns.size() < kLongest) {
      require((*line)->matches(name) == glob_list(name, (*line)->patterns), "both matchers agree");
    }
    if (line && *line) check_plain_names(**line, name);
  }
}

// -- Properties of a whole file -------------------------------------------------------------------

struct Question {
  std::string host;
  std::uint16_t port;
};

void check_verdict(const KnownHosts& hosts, const Question& q, const PublicKey& key) {
  const auto verdict = hosts.verdict(q.host, q.port, key);
  const auto stored = hosts.stored_keys(q.host, q.port);
  const auto types = hosts.stored_types(q.host, q.port);
  require((verdict == HostKeyVerdict::ok) == contains(stored, key),
          "a key is ok when it is one of the stored ones, and only then");
  switch (verdict) {
  case HostKeyVerdict::ok:
    return require(q.port != 22 || contains(types, key.type), "the type of an ok key is stored");
  case HostKeyVerdict::unknown:
    return require(types.empty() && (q.port != 22 || stored.empty()),
                   "an unknown host has nothing stored");
  case HostKeyVerdict::changed:
    return require(contains(types, key.type), "a changed key has its type stored");
  case HostKeyVerdict::other_type:
    return require(!types.empty() && !contains(types, key.type), "another type is stored");
  case HostKeyVerdict::revoked: return;
  }
}

KnownHosts load(std::string_view content) {
  const MemoryFile file(content);
  const std::array<std::filesystem::path, 1> files{file.path()};
  auto hosts = KnownHosts::load(files);
  require(hosts.has_value(), "a private file can always be loaded");
  constexpr std::size_t kMostWarnings = 11;
  require(hosts->warnings().size() <= kMostWarnings, "warnings are few");
  for (const auto& warning : hosts->warnings()) {
    require(printable(warning) == warning, "a warning is plain text");
  }
  return std::move(*hosts);
}

void check_digest(const KnownHosts& hosts, std::string_view content) {
  std::string reversed = "# the digest does not cover comments, blanks, or the order\n \n";
  auto lines = split(content, '\n');
  std::reverse(lines.begin(), lines.end());
  reversed += join(lines, "\n");
  require(load(reversed).digest() == hosts.digest(), "the digest is that of the set of records");
}

void check_append(std::string_view content, const Question& q, const PublicKey& key) {
  const MemoryFile file(content);
  const auto added = inventory::append_known_host(file.path(), q.host, q.port, {&key, 1});
  const auto after = file.content();
  require(after.starts_with(content), "what was there is not rewritten");
  if (!added) {
    require(after == content, "a refused key changes nothing");
    return require_presentable(added.error());
  }
  const auto verdict = load(after).verdict(q.host, q.port, key);
  require(verdict == HostKeyVerdict::ok || verdict == HostKeyVerdict::revoked,
          "a key that was added is ok, unless it is revoked");
  require(inventory::append_known_host(file.path(), q.host, q.port, {&key, 1}).has_value() &&
              file.content() == after,
          "a key that is there is not added again");
}

void check(std::string_view input) {
  const auto line = take_line(input);
  const auto blank = std::min(line.find(' '), line.size());
  const auto port = inventory::parse_port(line.substr(std::min(blank + 1, line.size())));
  const Question q{std::string(line.substr(0, blank)), port ? *port : std::uint16_t{22}};
  const auto hosts = load(input);
  for (const auto& key : keys()) check_verdict(hosts, q, key);
  check_lines(input, inventory::known_hosts_name(q.host, q.port));
  check_digest(hosts, input);
  check_append(input, q, keys().front());
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
