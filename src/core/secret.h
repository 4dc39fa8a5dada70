#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sshx {

/// A text that nobody should see: wiped when it goes away, never copied, and only read by its name.
class Secret {
 public:
  Secret() = default;
  /// Takes the bytes over and wipes `text`.
  explicit Secret(std::string&& text);
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  /// The bytes, while this lives.
  [[nodiscard]] std::string_view reveal() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  void wipe() noexcept;

  std::vector<char> bytes_;
};

/// Overwrites the text and empties it.
void wipe(std::string& text) noexcept;

}  // namespace sshx
