#include "inventory/known_hosts_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/sha256.h"
#include "core/text.h"
#include "inventory/host.h"

namespace sshx::inventory {
namespace {

constexpr std::string_view kBlank = " \t";
constexpr std::string_view kHashMagic = "|1|";
constexpr std::size_t kSha1Bytes = 20;
/// ssh(1) gives up on the whole list of names at a pattern of this length.
constexpr std::size_t kPatternLimit = 1023;

void skip_blank(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
}

std::string_view take_word(std::string_view& text) {
  // Not find_first_of(): it searches the set anew for each character, which shows in a long file.
  const auto* const end =
      std::find_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; });
  const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  skip_blank(text);
  return word;
}

Error line_error(std::string why) { return config_error("known_hosts", std::move(why)); }

/// Shell-like match of `*` and `?`. Going back only to the last star keeps it from growing
/// exponentially.
bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

/// Takes the first pattern off a list that is not empty.
std::string_view take_pattern(std::string_view& patterns) {
  const auto pattern = patterns.substr(0, patterns.find(','));
  patterns.remove_prefix(std::min(pattern.size() + 1, patterns.size()));
  return pattern;
}

/// One pattern of the list at least must match, and no negated one may.
bool matches_list(std::string_view name, std::string_view patterns) {
  bool found = false;
  while (!patterns.empty()) {
    auto pattern = take_pattern(patterns);
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (pattern.size() >= kPatternLimit) return false;
    if (!matches_pattern(name, pattern)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

Result<Marker> take_marker(std::string_view& text) {
  if (!text.starts_with('@')) return Marker::none;
  const auto word = take_word(text);
  if (text.starts_with('@')) return line_error("more than one marker");
  if (word == "@revoked") return Marker::revoked;
  if (word == "@cert-authority") return Marker::cert_authority;
  return line_error(fmt::format("unknown marker \"{}\"", printable(word.substr(0, 64))));
}

Status set_names(KnownHostsLine& line, std::string_view names) {
  if (!names.starts_with('|')) {
    line.patterns = lower_ascii(names);
    return {};
  }
  const auto bar = names.find('|', kHashMagic.size());
  if (!names.starts_with(kHashMagic) || bar == std::string_view::npos) {
    return line_error("the hashed name is of no known form");
  }
  auto salt = from_base64(names.substr(kHashMagic.size(), bar - kHashMagic.size()));
  auto hash = from_base64(names.substr(bar + 1));
  if (!salt || !hash || salt->size() != kSha1Bytes || hash->size() != kSha1Bytes) {
    return line_error("the hashed name is not valid");
  }
  line.salt = std::move(*salt);
  line.hash = std::move(*hash);
  return {};
}

}  // namespace

std::string known_hosts_name(std::string_view host, std::uint16_t port) {
  const auto lower = lower_ascii(host);
  return port == kDefaultPort ? lower : fmt::format("[{}]:{}", lower, port);
}

bool KnownHostsLine::matches(std::string_view name) const {
  return salt.empty() ? matches_list(name, patterns) : hmac_sha1(salt, name) == hash;
}

std::optional<std::vector<std::string_view>> KnownHostsLine::plain_names() const {
  if (!salt.empty()) return std::nullopt;
  std::vector<std::string_view> names;
  std::string_view rest = patterns;
  while (!rest.empty()) {
    const auto pattern = take_pattern(rest);
    const bool plain = !pattern.starts_with('!') && pattern.size() < kPatternLimit &&
                       pattern.find('*') == std::string_view::npos &&
                       pattern.find('?') == std::string_view::npos;
    if (!plain) return std::nullopt;
    names.push_back(pattern);
  }
  return names;
}

Result<std::optional<KnownHostsLine>> parse_known_hosts_line(std::string_view line) {
  // ssh(1) reads C strings: a line ends at its first NUL.
  auto rest = line.substr(0, line.find('\0'));
  while (rest.ends_with('\r')) rest.remove_suffix(1);
  skip_blank(rest);
  if (rest.empty() || rest.front() == '#') return std::optional<KnownHostsLine>();
  KnownHostsLine record;
  SSHX_TRY(record.marker, take_marker(rest));
  SSHX_CHECK(set_names(record, take_word(rest)));
  if (rest.empty() || rest.front() == '#') return line_error("no key after the host name");
  SSHX_TRY(record.key, parse_public_key(rest));
  return std::optional<KnownHostsLine>(std::move(record));
}

}  // namespace sshx::inventory
