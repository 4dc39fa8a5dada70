#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/public_key.h"
#include "core/result.h"
#include "inventory/known_hosts_line.h"

namespace sshx::inventory {

/// What the stored keys say of a key that a host has shown.
enum class HostKeyVerdict : std::uint8_t {
  ok,          ///< This very key is stored for this host.
  unknown,     ///< No key at all is stored for this host.
  changed,     ///< Another key of the same type is stored: an attack, or a reinstalled host.
  revoked,     ///< The key is marked @revoked for this host.
  other_type,  ///< Keys are stored for this host, none of this type.
};

[[nodiscard]] std::string_view to_string(HostKeyVerdict verdict) noexcept;

/// OpenSSH's known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): user and global files read as one
/// list; hashed names, [host]:port, wildcards, negation, @revoked and @cert-authority lines; CRLF;
/// comments. Names compare by ASCII case. A port other than 22 is looked up as [host]:port; when no
/// key is stored under that, a key stored for the plain name is accepted if it is the same, as
/// ssh(1) does. Copies share the records, which never change. The first look at a host takes time
/// by the lines with hashed names, wildcards or negation; lines that spell their names out are
/// indexed. Belongs to one thread.
class KnownHosts {
 public:
  /// No records.
  KnownHosts();

  /// Reads the files in order. A missing file and /dev/null are empty; a line that cannot be read
  /// is skipped with a warning. Waits for the disk. Returns: config (`known_hosts`: a file exists
  /// but cannot be read; `unsafe_permissions`: others may write it).
  [[nodiscard]] static Result<KnownHosts> load(std::span<const std::filesystem::path> files);

  [[nodiscard]] HostKeyVerdict verdict(std::string_view host, std::uint16_t port,
                                       const PublicKey& key) const;

  /// The key types that ssh(1) would ask the host for first: those of its lines without a marker,
  /// in file order, each once. Lines for the plain name do not count for another port.
  [[nodiscard]] std::vector<std::string> stored_types(std::string_view host,
                                                      std::uint16_t port) const;
  /// The keys stored for the host (not revoked, not @cert-authority), in file order, each once;
  /// those of the plain name where none is stored for [host]:port.
  [[nodiscard]] std::vector<PublicKey> stored_keys(std::string_view host, std::uint16_t port) const;
  /// Whether a @cert-authority line matches the host.
  [[nodiscard]] bool has_authority(std::string_view host, std::uint16_t port) const;

  /// "sha256:..." of the sorted, non-blank, non-comment lines of all files (design §4, trust
  /// snapshot).
  [[nodiscard]] const std::string& digest() const noexcept;

  /// One sentence a skipped line: "FILE:LINE: skipped: why"; after the first few a file, how many
  /// more there are.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept;

 private:
  struct Records;

  explicit KnownHosts(std::shared_ptr<const Records> records) noexcept;

  std::shared_ptr<const Records> records_;
};

/// Appends a line for each key to `file` (created 0600, its folder 0700), under a lock, as ONE
/// write of whole lines that begins with a newline when the file's last line has none. Nothing that
/// is there is rewritten; a symbolic link is followed. Keys that `file` has already for exactly
/// this host and port are not added again. Waits for the disk and, at most 10 s, for other holders
/// of the lock. Returns: local_io, busy (`locked`), config (`address`: the name would be read as a
/// pattern; what load() returns).
[[nodiscard]] Status append_known_host(const std::filesystem::path& file, std::string_view host,
                                       std::uint16_t port, std::span<const PublicKey> keys);

}  // namespace sshx::inventory
