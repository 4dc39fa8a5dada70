#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "inventory/host.h"

namespace sshx::cli {

/// A host as a `host` operation answers with it.
struct HostEntry {
  inventory::Host host;
  Json keys = nullptr;  ///< The document's `keys`; null where the operation does not look at keys.
  Json test = nullptr;  ///< The document's `test`; null but for `host test`.
};

/// What a `host` operation found or did.
struct HostsAnswer {
  std::string operation;
  std::filesystem::path path;  ///< The hosts file.
  std::vector<HostEntry> hosts;
  std::vector<std::string> warnings;
  std::optional<Error> error;
};

/// The document sshx.hosts.v1.
[[nodiscard]] Json hosts_document(const HostsAnswer& answer);

/// One line a host under a heading; "-" for what is not set. Empty without hosts.
[[nodiscard]] std::string hosts_table(const HostsAnswer& answer);

/// One property a line, the keys last.
[[nodiscard]] std::string host_sheet(const HostEntry& entry);

/// One entry of a host's `keys`.
[[nodiscard]] Json key_json(std::string_view type, std::string_view fingerprint,
                            std::string_view verdict);

}  // namespace sshx::cli
