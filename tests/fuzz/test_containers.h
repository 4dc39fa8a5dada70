#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/wire.h"

// Private keys that anybody can compute: a published test vector, the number one, and two Mersenne
// primes. In OpenSSH's container (PROTOCOL.key), as it stands between the BEGIN and END lines
// before base64.

namespace sshx::fuzz {

inline constexpr std::string_view kContainerMagic{"openssh-key-v1\0", 15};

inline std::string from_hex(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(kDigits.find(hex[i]) * 16 + kDigits.find(hex[i + 1]));
  }
  return bytes;
}

/// A container whose private section holds `type` and then `fields`.
inline std::string container(std::string_view type, std::initializer_list<std::string_view> fields,
                             std::string_view public_blob) {
  constexpr std::size_t kBlock = 8;
  WireWriter section;
  section.uint32(1);  // twice the same number
  section.uint32(1);
  section.string(type);
  for (const auto field : fields) section.string(field);
  section.string("a test");
  for (std::uint8_t i = 1; section.bytes().size() % kBlock != 0; ++i) section.byte(i);
  WireWriter whole;
  for (const std::string_view word : {"none", "none", ""}) whole.string(word);
  whole.uint32(1);
  whole.string(public_blob);
  whole.string(section.bytes());
  return std::string(kContainerMagic) + whole.bytes();
}

inline std::string blob_of(std::initializer_list<std::string_view> fields) {
  WireWriter writer;
  for (const auto field : fields) writer.string(field);
  return writer.bytes();
}

/// RFC 8032 §7.1, TEST 1.
inline std::string ed25519_container() {
  const auto seed = from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const auto point = from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  return container("ssh-ed25519", {point, seed + point}, blob_of({"ssh-ed25519", point}));
}

/// The secret number is 1, so the point is the generator (SEC 2 §2.4.2).
inline std::string ecdsa_container() {
  constexpr std::string_view kType = "ecdsa-sha2-nistp256";
  const auto point = from_hex("046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                              "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
  return container(kType, {"nistp256", point, "\1"}, blob_of({kType, "nistp256", point}));
}

/// p is 2^521 - 1, q is 2^607 - 1, e is 65537.
inline std::string rsa_container() {
  const auto p = "\1" + std::string(65, '\xff');
  const auto q = "\x7f" + std::string(75, '\xff');
  const std::string_view e("\1\0\1", 3);
  const auto n = from_hex("00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
                          "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
                          "ffff7ffffffffffffffffffffe00000000000000000000000000000000000000"
                          "0000000000000000000000000000000000000000000000000000000000000000"
                          "0000000000000000000000000001");
  const auto d = from_hex("2a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd580"
                          "2a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd5802a7fd580"
                          "2a5555aaaa5555aaaa5555aa0055ffaa0055ffaa0055ffaa0055ffaa0055ffaa"
                          "0055ffaa0055ffaa0055ffaa0055ffaa0055ffaa0055ffaa0055ffaa0055ffaa"
                          "0055ffaa0055ffaa0055ffaa01");
  const auto iqmp = from_hex("1084210842108421084210421084210842108421084108421084210842108421"
                             "0421084210842108421084108421084210842108421042108421084210842108"
                             "41");
  return container("ssh-rsa", {n, e, d, iqmp, p, q}, blob_of({"ssh-rsa", e, n}));
}

}  // namespace sshx::fuzz
