#include "core/wire.h"

namespace sshx {

void WireWriter::uint32(std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    byte(static_cast<std::uint8_t>(value >> static_cast<unsigned>(shift)));
  }
}

void WireWriter::string(std::string_view value) {
  uint32(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
}

std::optional<std::uint8_t> WireReader::byte() {
  if (rest_.empty()) return std::nullopt;
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::optional<std::uint32_t> WireReader::uint32() {
  if (rest_.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<std::uint8_t>(rest_[i]);
  rest_.remove_prefix(4);
  return value;
}

std::optional<std::string_view> WireReader::string() {
  const auto before = rest_;
  const auto size = uint32();
  if (!size || *size > rest_.size()) {
    rest_ = before;
    return std::nullopt;
  }
  const auto value = rest_.substr(0, *size);
  rest_.remove_prefix(*size);
  return value;
}

}  // namespace sshx
