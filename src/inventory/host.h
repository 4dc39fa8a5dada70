#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sshx::inventory {

inline constexpr std::uint16_t kDefaultPort = 22;

/// One named host of the hosts file: who may be reached under that name, and how.
struct Host {
  std::string name;
  std::string address;
  std::uint16_t port = kDefaultPort;
  /// Empty: the local user's name, as ssh(1).
  std::string user;
  /// Path of a private key as the user wrote it (`~` allowed); empty: the agent's keys and the
  /// default files.
  std::string identity;
  std::vector<std::string> groups;
  std::map<std::string, std::string> tags;
  std::string description;

  bool operator==(const Host&) const = default;
};

/// Where an `address` literal leads: [USER@]HOST, [USER@]HOST:PORT or [USER@][v6]:PORT. A bare IPv6
/// address is taken whole.
struct Address {
  std::string user;
  std::string host;
  std::uint16_t port = kDefaultPort;

  bool operator==(const Address&) const = default;
};

/// Reads an address literal. Names that begin with "-", white space, control bytes and ports
/// outside 1..65535 are refused, so that no value can become an option. Returns: config (`address`,
/// `user`).
[[nodiscard]] Result<Address> parse_address(std::string_view text);

/// A port number in decimal digits. Returns: config (`port`).
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

/// Host names for `host add`, groups and tag keys: letters, digits, "._-", not starting with "-" or
/// ".", at most 128 bytes. `what` names the thing in the message. Returns: config (`name`).
[[nodiscard]] Status check_name(std::string_view name, std::string_view what);

/// Every rule that a host must keep, wherever it comes from.
/// Returns: config (`name`, `address`, `port`, `user`, `identity`, `tag`, `description`).
[[nodiscard]] Status check_host(const Host& host);

}  // namespace sshx::inventory
