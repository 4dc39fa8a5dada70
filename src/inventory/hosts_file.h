#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "inventory/host.h"

namespace sshx::inventory {

/// The hosts of hosts.json, sorted by name.
class Hosts {
 public:
  Hosts() = default;
  /// In any order; each name once.
  explicit Hosts(std::vector<Host> hosts);

  [[nodiscard]] const std::vector<Host>& all() const noexcept { return hosts_; }

  /// Nothing where no host has that name; valid until the next change.
  [[nodiscard]] const Host* find(std::string_view name) const noexcept;
  /// The names with commas between, and after the first 20 how many more there are.
  [[nodiscard]] std::string name_list() const;
  /// The host of that name. Returns: config (`unknown_target`) which lists the names there are and
  /// suggests the nearest.
  [[nodiscard]] Result<Host> require(std::string_view name) const;
  /// Adds or replaces.
  void put(Host host);
  /// Does nothing where no host has that name.
  void remove(std::string_view name);

 private:
  std::vector<Host> hosts_;
};

/// Reads hosts.json; a missing file is no hosts. Every host is checked; an unknown property, a
/// wrong type or another schema version is refused with its place, since a typo must not open
/// anything. Returns: config (`hosts_file`, `unsafe_permissions`), local_io.
[[nodiscard]] Result<Hosts> load_hosts(const std::filesystem::path& file);

/// Runs `change` on the current hosts and stores what it leaves: under an exclusive lock beside the
/// file, replaced at once, mode 0600; so concurrent writers lose nothing and a crash leaves the old
/// or the new file. Hosts that `change` leaves as they were are not written. Waits for the lock, at
/// most 10 s. Returns: what load_hosts and `change` return; local_io; busy (`locked`).
[[nodiscard]] Status change_hosts(const std::filesystem::path& file,
                                  const std::function<Status(Hosts&)>& change);

/// The file's form of one host (without its name), and back. Empty properties are left out.
[[nodiscard]] Json host_to_json(const Host& host);
/// Returns: config (`hosts_file`) naming the property.
[[nodiscard]] Result<Host> host_from_json(std::string_view name, const Json& value);

}  // namespace sshx::inventory
