#include "core/identifier.h"

#include "core/sha256.h"

namespace sshx {

std::string new_id() {
  auto bytes = random_bytes(16);
  const auto set_bits = [&](std::size_t at, unsigned keep, unsigned bits) {
    const unsigned byte = static_cast<unsigned char>(bytes[at]);
    bytes[at] = static_cast<char>((byte & keep) | bits);
  };
  set_bits(6, 0x0FU, 0x40U);  // version 4
  set_bits(8, 0x3FU, 0x80U);  // variant of RFC 9562
  auto id = to_hex(bytes);
  for (const std::size_t at : {8U, 13U, 18U, 23U}) id.insert(at, "-");
  return id;
}

}  // namespace sshx
