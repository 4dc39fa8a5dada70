#include "core/secret.h"

#include <cstring>
#include <utility>

namespace sshx {

Secret::Secret(std::string&& text) : bytes_(text.begin(), text.end()) { sshx::wipe(text); }

Secret& Secret::operator=(Secret&& other) noexcept {
  wipe();
  bytes_ = std::move(other.bytes_);
  return *this;
}

Secret::~Secret() { wipe(); }

void Secret::wipe() noexcept {
  if (!bytes_.empty()) explicit_bzero(bytes_.data(), bytes_.size());
  bytes_.clear();
}

void wipe(std::string& text) noexcept {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace sshx
