#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sshx {

/// Appends SSH data types (RFC 4251 §5) to a buffer.
class WireWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void uint32(std::uint32_t value);
  void string(std::string_view value);
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads SSH data types (RFC 4251 §5) from a view that outlives it. Nothing is returned once the
/// data ends too early.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::optional<std::uint8_t> byte();
  [[nodiscard]] std::optional<std::uint32_t> uint32();
  [[nodiscard]] std::optional<std::string_view> string();
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace sshx
