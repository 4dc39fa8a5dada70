#include "inventory/host.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/utf8.h"

namespace sshx::inventory {
namespace {

constexpr std::size_t kNameLimit = 128;
constexpr std::size_t kHostNameLimit = 253;  // RFC 1035 §2.3.4, without the root's length byte
constexpr std::size_t kUserLimit = 256;
constexpr std::size_t kTextLimit = 1024;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_character(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool is_ipv6(std::string_view text) {
  const auto zone = text.find('%');
  const std::string address(text.substr(0, zone));
  in6_addr parsed{};
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) return false;
  if (zone == std::string_view::npos) return true;
  const auto name = text.substr(zone + 1);
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_character);
}

bool is_host(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return is_ipv6(host);
  return !host.empty() && host.size() <= kHostNameLimit && host.front() != '-' &&
         host.front() != '.' && std::all_of(host.begin(), host.end(), is_name_character);
}

Status check_address(std::string_view host) {
  if (is_host(host)) return {};
  return config_error(
      "address", fmt::format("\"{}\" is not a host name or an IP address", printable(host)),
      "write a DNS name, an IPv4 or an IPv6 address, such as web.example.org or 10.0.0.5");
}

/// The characters that ssh(1) refuses in user names: they could change the meaning of a configured
/// command. And ":" and "/", which only come with a URL or a password typed into the address.
bool is_user(std::string_view user) {
  return !user.empty() && user.size() <= kUserLimit && user.front() != '-' && user.back() != '\\' &&
         is_utf8(user) && !has_control(user) &&
         user.find_first_of(" '`\";&<>|(){}:/") == std::string_view::npos;
}

Status check_user(std::string_view user) {
  if (is_user(user)) return {};
  // Not repeated after a colon: that may be a password.
  const auto shown = user.substr(0, user.find(':'));
  return config_error("user", fmt::format("\"{}\" is not a user name", printable(shown)),
                      "write the login name on the host, such as alice");
}

Status check_text(std::string_view text, std::string_view code, std::string_view what) {
  if (is_utf8(text) && !has_control(text) && text.size() <= kTextLimit) return {};
  return config_error(std::string(code), fmt::format("{} is not plain text", what),
                      fmt::format("write one line of UTF-8, at most {} bytes", kTextLimit));
}

Status check_tags(const Host& host) {
  for (const auto& [key, value] : host.tags) {
    SSHX_CHECK(check_name(key, "tag"));
    SSHX_CHECK(check_text(value, "tag", fmt::format("the value of tag \"{}\"", key)));
  }
  return {};
}

Status check_identity(std::string_view identity) {
  if (identity.starts_with('-')) {
    return config_error(
        "identity", fmt::format("the identity \"{}\" reads like an option", printable(identity)),
        "write the path of a private key, such as ~/.ssh/id_ed25519");
  }
  return check_text(identity, "identity", "the identity");
}

Error address_error(std::string_view text, std::string_view why) {
  return config_error("address", fmt::format("\"{}\" is not an address: {}", printable(text), why),
                      "write [USER@]HOST, [USER@]HOST:PORT or [USER@][IPV6]:PORT");
}

/// Splits "[v6]", "[v6]:PORT", "HOST:PORT", a bare IPv6 address or HOST into host and port text.
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
};

Result<HostAndPort> split_port(std::string_view text) {
  if (!text.starts_with('[')) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
      return HostAndPort{text, std::nullopt};
    }
    return HostAndPort{text.substr(0, colon), text.substr(colon + 1)};
  }
  const auto end = text.find(']');
  if (end == std::string_view::npos) return address_error(text, "\"]\" is missing");
  const auto host = text.substr(1, end - 1);
  if (!is_ipv6(host)) return address_error(text, "only an IPv6 address stands in brackets");
  const auto rest = text.substr(end + 1);
  if (rest.empty()) return HostAndPort{host, std::nullopt};
  if (rest.front() != ':') return address_error(text, R"(only ":PORT" may follow "]")");
  return HostAndPort{host, rest.substr(1)};
}

}  // namespace

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error == std::errc() && end == text.data() + text.size() && port != 0) return port;
  return config_error("port", fmt::format("\"{}\" is not a port", printable(text)),
                      "write a whole number from 1 to 65535");
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  auto rest = text;
  // The last "@": a user name may hold one itself (user@domain@host), as in ssh(1).
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    address.user = text.substr(0, at);
    SSHX_CHECK(check_user(address.user));
    rest.remove_prefix(at + 1);
  }
  SSHX_TRY(const auto parts, split_port(rest));
  SSHX_CHECK(check_address(parts.host));
  address.host = parts.host;
  if (parts.port) {
    const auto port = parse_port(*parts.port);
    if (!port) return address_error(text, port.error().message);
    address.port = *port;
  }
  return address;
}

Status check_name(std::string_view name, std::string_view what) {
  const bool valid = !name.empty() && name.size() <= kNameLimit && name.front() != '-' &&
                     name.front() != '.' &&
                     std::all_of(name.begin(), name.end(), is_name_character);
  if (valid) return {};
  return config_error("name", fmt::format("\"{}\" is not a valid {} name", printable(name), what),
                      fmt::format("use letters, digits, \".\", \"_\" and \"-\", not \"-\" or \".\" "
                                  "in front, at most {} bytes",
                                  kNameLimit));
}

Status check_host(const Host& host) {
  SSHX_CHECK(check_name(host.name, "host"));
  SSHX_CHECK(check_address(host.address));
  if (host.port == 0) {
    return config_error("port", "0 is not a port", "write a whole number from 1 to 65535");
  }
  if (!host.user.empty()) {
    SSHX_CHECK(check_user(host.user));
  }
  SSHX_CHECK(check_identity(host.identity));
  for (const auto& group : host.groups) {
    SSHX_CHECK(check_name(group, "group"));
  }
  SSHX_CHECK(check_tags(host));
  return check_text(host.description, "description", "the description");
}

}  // namespace sshx::inventory
