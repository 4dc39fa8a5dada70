// What an authentication agent answers: nothing is taken from beyond the answer, and what is taken
// means the same when it is said again.

#include "core/wire.h"
#include "fuzz/property.h"
#include "ssh/agent_messages.h"

namespace sshx::fuzz {
namespace {

constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr std::uint8_t kSignResponse = 14;
constexpr std::size_t kSmallestKey = 8;  // two empty strings

std::string identities_answer(const std::vector<ssh::AgentKey>& keys) {
  WireWriter writer;
  writer.byte(kIdentitiesAnswer);
  writer.uint32(static_cast<std::uint32_t>(keys.size()));
  for (const auto& key : keys) {
    writer.string(key.public_key.blob);
    writer.string(key.comment);
  }
  return writer.bytes();
}

bool same(const ssh::AgentKey& a, const ssh::AgentKey& b) {
  return a.public_key == b.public_key && a.comment == b.comment;
}

void check_identities(std::string_view answer) {
  const auto keys = ssh::parse_identities_answer(answer);
  if (!keys) return;
  require(keys->size() <= answer.size() / kSmallestKey,
          "keys are no more than the answer can hold");
  for (const auto& key : *keys) {
    require(answer.find(key.public_key.blob) != std::string_view::npos, "a key is in the answer");
    require(WireReader(key.public_key.blob).string() == key.public_key.type,
            "the type of a key is its own");
    require(key.public_key.type == "ssh-rsa" || key.public_key.type == "ssh-ed25519" ||
                key.public_key.type.starts_with("ecdsa-sha2-nistp"),
            "a key is of a type that can log in");
  }
  const auto again = ssh::parse_identities_answer(identities_answer(*keys));
  require(again && std::equal(again->begin(), again->end(), keys->begin(), keys->end(), same),
          "the keys read back from an answer that lists them");
}

void check_signature(std::string_view answer) {
  const auto signature = ssh::parse_sign_answer(answer);
  if (!signature) return;
  require(static_cast<std::uint8_t>(answer.front()) == kSignResponse, "only a signature is one");
  require(signature->data() >= answer.data() &&
              signature->data() + signature->size() <= answer.data() + answer.size(),
          "the signature is in the answer");
}

void check_request(std::string_view blob) {
  constexpr unsigned kFlags = 4;
  const auto request = ssh::sign_request(blob, "bytes", kFlags);
  WireReader reader(request);
  require(reader.byte() == 13 && reader.string() == blob && reader.string() == "bytes" &&
              reader.uint32() == kFlags && reader.rest().empty(),
          "a request for a signature reads as the draft says");
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = sshx::fuzz::text_of(data, size);
  sshx::fuzz::check_identities(bytes);
  sshx::fuzz::check_signature(bytes);
  sshx::fuzz::check_request(bytes);
  return 0;
}
