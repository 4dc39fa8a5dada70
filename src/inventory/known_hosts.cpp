#include "inventory/known_hosts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/file.h"
#include "core/sha256.h"
#include "core/text.h"
#include "inventory/host.h"

namespace sshx::inventory {
namespace {

using std::filesystem::path;

constexpr std::size_t kFileLimit = std::size_t{64} << 20U;
constexpr std::size_t kWarningsPerFile = 10;

/// What the lines that match one name say of one key.
struct Standing {
  bool revoked = false;
  bool same = false;
  bool same_type = false;
  bool any = false;
};

/// Lines that match one name, in file order.
using Matches = std::vector<const KnownHostsLine*>;

Standing standing_of(const Matches& lines, const PublicKey& key) {
  Standing standing;
  for (const auto* line : lines) {
    if (line->marker == Marker::cert_authority) continue;
    const bool same = line->key == key;
    if (line->marker == Marker::revoked) {
      standing.revoked = standing.revoked || same;
      continue;
    }
    standing.any = true;
    standing.same = standing.same || same;
    standing.same_type = standing.same_type || line->key.type == key.type;
  }
  return standing;
}

std::optional<HostKeyVerdict> verdict_of(const Standing& standing) {
  if (standing.revoked) return HostKeyVerdict::revoked;
  if (standing.same) return HostKeyVerdict::ok;
  if (standing.same_type) return HostKeyVerdict::changed;
  if (standing.any) return HostKeyVerdict::other_type;
  return std::nullopt;
}

/// The keys of one name's lines, each once, in file order.
struct KeysOfName {
  std::vector<PublicKey> stored;  ///< Revoked ones among them.
  std::vector<PublicKey> revoked;
};

KeysOfName keys_of(const Matches& lines) {
  KeysOfName keys;
  for (const auto* line : lines) {
    if (line->marker == Marker::cert_authority) continue;
    auto& list = line->marker == Marker::revoked ? keys.revoked : keys.stored;
    if (std::find(list.begin(), list.end(), line->key) == list.end()) list.push_back(line->key);
  }
  return keys;
}

void remove_keys(std::vector<PublicKey>& keys, const std::vector<PublicKey>& revoked) {
  std::erase_if(keys, [&](const PublicKey& key) {
    return std::find(revoked.begin(), revoked.end(), key) != revoked.end();
  });
}

/// The content of a known_hosts file; empty where there is none.
Result<std::string> read_known_hosts(const path& file) {
  if (file == "/dev/null") return std::string();
  auto checked = check_private(file);
  if (!checked && checked.error().kind == ErrorKind::config) return std::move(checked).error();
  auto content = read_file(file, kFileLimit);
  if (content) return content;
  if (content.error().code == "not_found") return std::string();
  return config_error(
      "known_hosts", content.error().message,
      "no host key can be trusted without it: make it readable, or name another file");
}

std::vector<KnownHostsLine> parse_lines(const path& file, std::string_view content,
                                        std::vector<std::string>& warnings) {
  std::vector<KnownHostsLine> lines;
  std::size_t number = 0;
  std::size_t skipped = 0;
  while (!content.empty()) {
    const auto text = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(text.size() + 1, content.size()));
    ++number;
    auto line = parse_known_hosts_line(text);
    if (line) {
      if (*line) lines.push_back(std::move(**line));
    } else if (++skipped <= kWarningsPerFile) {
      warnings.push_back(
          fmt::format("{}:{}: skipped: {}", file.string(), number, line.error().message));
    }
  }
  if (skipped > kWarningsPerFile) {
    warnings.push_back(
        fmt::format("{}: skipped {} more lines", file.string(), skipped - kWarningsPerFile));
  }
  return lines;
}

/// The records of a file as they stand, without white space around them. They are views of
/// `content`.
void collect_records(std::string_view content, std::vector<std::string_view>& records) {
  while (!content.empty()) {
    const auto line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    const auto record = trim(line);
    if (!record.empty() && record.front() != '#') records.push_back(record);
  }
}

std::string digest_of(std::span<const std::string> contents) {
  std::vector<std::string_view> records;
  for (const auto& content : contents) collect_records(content, records);
  std::sort(records.begin(), records.end());
  std::string all;
  for (const auto record : records) all.append(record).append("\n");
  return sha256_label(all);
}

/// A name that known_hosts would read as something else must not get into it.
Status check_plain_name(std::string_view host) {
  const bool plain = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return c > ' ' && c < 0x7F && std::string_view("*?!,|#@[]\"").find(c) == std::string_view::npos;
  });
  if (plain) return {};
  return config_error("address",
                      fmt::format("\"{}\" cannot be a name in known_hosts", printable(host)),
                      "use a host name or an IP address");
}

bool is_stored(const std::vector<KnownHostsLine>& lines, std::string_view name,
               const PublicKey& key) {
  return std::any_of(lines.begin(), lines.end(), [&](const KnownHostsLine& line) {
    return line.marker == Marker::none && line.key == key && line.matches(name);
  });
}

/// Takes back what a failed append of `text` has left: half a line would spoil the next one too. A
/// line that ssh(1), which takes no lock, has added meanwhile stays.
void take_back(int fd, std::size_t old_size, std::string_view text) {
  std::string tail(text.size() + 1, '\0');
  const auto got = pread(fd, tail.data(), tail.size(), static_cast<off_t>(old_size));
  if (got <= 0 || !text.starts_with(std::string_view(tail.data(), static_cast<std::size_t>(got))))
    return;
  // Whether it works or not, what is reported is why the append failed.
  [[maybe_unused]] const int done = ftruncate(fd, static_cast<off_t>(old_size));
}

/// Adds `text` to a file of `old_size` bytes, all of it or nothing.
Status append(const path& file, std::size_t old_size, std::string_view text) {
  const UniqueFd fd(open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (!fd) return io_error("write", file.string(), errno);
  auto written = write_all(fd.get(), text, file.string());
  if (written && fsync(fd.get()) != 0) written = io_error("write", file.string(), errno);
  if (!written) take_back(fd.get(), old_size, text);
  return written;
}

}  // namespace

std::string_view to_string(HostKeyVerdict verdict) noexcept {
  switch (verdict) {
  case HostKeyVerdict::ok: return "ok";
  case HostKeyVerdict::unknown: return "unknown";
  case HostKeyVerdict::changed: return "changed";
  case HostKeyVerdict::revoked: return "revoked";
  case HostKeyVerdict::other_type: return "other_type";
  }
  return "";
}

struct KnownHosts::Records {
  std::vector<KnownHostsLine> lines;
  std::string digest = digest_of({});
  std::vector<std::string> warnings;
  /// Places of lines, each list in file order: of those that spell a name out, and of all others.
  /// The names are views of `lines`.
  std::unordered_map<std::string_view, std::vector<std::size_t>> spelt_out;
  std::vector<std::size_t> others;
  /// What was found among the others by now. A name is looked up for the plan, for the connection
  /// and for the verdict, and each line with a hashed name costs a hash of its own.
  mutable std::unordered_map<std::string, std::vector<std::size_t>> found_among_others;

  /// To be called once `lines` are complete.
  void index();

  [[nodiscard]] Matches matching(std::string_view name) const;
  [[nodiscard]] const std::vector<std::size_t>& matching_others(std::string_view name) const;
};

void KnownHosts::Records::index() {
  for (std::size_t place = 0; place < lines.size(); ++place) {
    const auto names = lines[place].plain_names();
    if (!names) {
      others.push_back(place);
      continue;
    }
    for (const auto name : *names) {
      auto& places = spelt_out[name];
      // A line may name a host twice.
      if (places.empty() || places.back() != place) places.push_back(place);
    }
  }
}

const std::vector<std::size_t>& KnownHosts::Records::matching_others(std::string_view name) const {
  const auto [entry, is_new] = found_among_others.try_emplace(std::string(name));
  if (is_new) {
    std::copy_if(others.begin(), others.end(), std::back_inserter(entry->second),
                 [&](std::size_t place) { return lines[place].matches(name); });
  }
  return entry->second;
}

Matches KnownHosts::Records::matching(std::string_view name) const {
  auto places = matching_others(name);
  if (const auto found = spelt_out.find(name); found != spelt_out.end()) {
    const auto middle = places.insert(places.end(), found->second.begin(), found->second.end());
    std::inplace_merge(places.begin(), middle, places.end());
  }
  Matches matches;
  for (const auto place : places) matches.push_back(&lines[place]);
  return matches;
}

KnownHosts::KnownHosts() : KnownHosts(std::make_shared<const Records>()) {}

KnownHosts::KnownHosts(std::shared_ptr<const Records> records) noexcept
    : records_(std::move(records)) {}

Result<KnownHosts> KnownHosts::load(std::span<const path> files) {
  auto records = std::make_shared<Records>();
  std::vector<std::string> contents;
  for (const auto& file : files) {
    SSHX_TRY(auto content, read_known_hosts(file));
    auto lines = parse_lines(file, content, records->warnings);
    std::move(lines.begin(), lines.end(), std::back_inserter(records->lines));
    contents.push_back(std::move(content));
  }
  records->digest = digest_of(contents);
  records->index();
  return KnownHosts(std::move(records));
}

const std::string& KnownHosts::digest() const noexcept { return records_->digest; }

const std::vector<std::string>& KnownHosts::warnings() const noexcept { return records_->warnings; }

HostKeyVerdict KnownHosts::verdict(std::string_view host, std::uint16_t port,
                                   const PublicKey& key) const {
  const auto exact = verdict_of(standing_of(records_->matching(known_hosts_name(host, port)), key));
  if (exact) return *exact;
  if (port == kDefaultPort) return HostKeyVerdict::unknown;
  // The plain name can only confirm a key, or revoke it: another key there says nothing of this
  // port's server.
  const auto plain =
      verdict_of(standing_of(records_->matching(known_hosts_name(host, kDefaultPort)), key));
  if (plain == HostKeyVerdict::ok || plain == HostKeyVerdict::revoked) return *plain;
  return HostKeyVerdict::unknown;
}

std::vector<PublicKey> KnownHosts::stored_keys(std::string_view host, std::uint16_t port) const {
  const auto exact = keys_of(records_->matching(known_hosts_name(host, port)));
  auto keys = exact.stored;
  if (keys.empty() && port != kDefaultPort) {
    const auto plain = keys_of(records_->matching(known_hosts_name(host, kDefaultPort)));
    keys = plain.stored;
    remove_keys(keys, plain.revoked);
  }
  // A key that is revoked for the port is not one of its keys by its plain name either.
  remove_keys(keys, exact.revoked);
  return keys;
}

std::vector<std::string> KnownHosts::stored_types(std::string_view host, std::uint16_t port) const {
  std::vector<std::string> types;
  for (const auto* line : records_->matching(known_hosts_name(host, port))) {
    if (line->marker != Marker::none) continue;
    const auto& type = line->key.type;
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

bool KnownHosts::has_authority(std::string_view host, std::uint16_t port) const {
  const auto among = [](const Matches& lines) {
    return std::any_of(lines.begin(), lines.end(), [](const KnownHostsLine* line) {
      return line->marker == Marker::cert_authority;
    });
  };
  return among(records_->matching(known_hosts_name(host, port))) ||
         among(records_->matching(known_hosts_name(host, kDefaultPort)));
}

Status append_known_host(const path& file, std::string_view host, std::uint16_t port,
                         std::span<const PublicKey> keys) {
  SSHX_CHECK(check_plain_name(host));
  if (file.has_parent_path()) {
    SSHX_CHECK(make_private_directory(file.parent_path()));
  }
  SSHX_TRY(const auto lock, FileLock::acquire(file));
  SSHX_TRY(const auto content, read_known_hosts(file));
  std::vector<std::string> warnings;
  const auto stored = parse_lines(file, content, warnings);
  const auto name = known_hosts_name(host, port);
  std::string lines;
  for (const auto& key : keys) {
    if (is_stored(stored, name, key)) continue;
    lines += fmt::format("{} {}\n", name, public_key_text(key));
  }
  if (lines.empty()) return {};
  if (!content.empty() && content.back() != '\n') lines.insert(0, "\n");
  return append(file, content.size(), lines);
}

}  // namespace sshx::inventory
