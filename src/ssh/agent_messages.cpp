#include "ssh/agent_messages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/wire.h"

namespace sshx::ssh {
namespace {

// draft-ietf-sshm-ssh-agent §6.1
constexpr std::uint8_t kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr std::uint8_t kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;

constexpr std::array<std::string_view, 5> kUsableTypes{
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"};

bool usable(std::string_view type) {
  return std::find(kUsableTypes.begin(), kUsableTypes.end(), type) != kUsableTypes.end();
}

}  // namespace

std::string identities_request() {
  WireWriter request;
  request.byte(kRequestIdentities);
  return request.bytes();
}

std::optional<std::vector<AgentKey>> parse_identities_answer(std::string_view answer) {
  WireReader reader(answer);
  if (reader.byte() != kIdentitiesAnswer) return std::nullopt;
  const auto count = reader.uint32();
  if (!count) return std::nullopt;
  std::vector<AgentKey> keys;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto blob = reader.string();
    const auto comment = reader.string();
    if (!blob || !comment) return std::nullopt;
    auto key = public_key_from_blob(std::string(*blob));
    if (key && usable(key->type)) keys.push_back({std::move(*key), std::string(*comment)});
  }
  return keys;
}

std::string sign_request(std::string_view blob, std::string_view bytes, unsigned flags) {
  WireWriter request;
  request.byte(kSignRequest);
  request.string(blob);
  request.string(bytes);
  request.uint32(flags);
  return request.bytes();
}

std::optional<std::string_view> parse_sign_answer(std::string_view answer) {
  WireReader reader(answer);
  if (reader.byte() != kSignResponse) return std::nullopt;
  return reader.string();
}

}  // namespace sshx::ssh
