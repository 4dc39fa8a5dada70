#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/public_key.h"

namespace sshx::inventory {

/// A public key under a short name. Their private halves were never kept.
struct SampleKey {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array<SampleKey, 4> kSampleKeys{{
    {"{E}", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMkkrVfFr9rdwAlliZirvCySvkv1XIFSOjv1pVky5+xg"},
    {"{F}", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ54Q9O6XsGSspd07zYJGj3krRhvr72Ll1q3zc6We/Rw"},
    {"{C}",
     "ecdsa-sha2-nistp256 "
     "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPnhIDuvCBgGvSdUKdqcgL0Cw7xOVIkXrYPx"
     "zGOhuTsGVTGchbRn38+MRhkBlCWzTBcJ7zZnNiom7zXSWxuFcWY="},
    // Of the right form, though no RSA key would be so short.
    {"{R}", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAABG1vZHU="},
}};

/// `text` with the keys in place of their names.
inline std::string with_keys(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* const key =
        std::find_if(kSampleKeys.begin(), kSampleKeys.end(),
                     [&](const SampleKey& row) { return text.starts_with(row.name); });
    const bool found = key != kSampleKeys.end();
    result += found ? key->text : text.substr(0, 1);
    text.remove_prefix(found ? key->name.size() : 1);
  }
  return result;
}

inline PublicKey sample_key(std::string_view name) {
  return parse_public_key(with_keys(name)).value();
}

}  // namespace sshx::inventory
