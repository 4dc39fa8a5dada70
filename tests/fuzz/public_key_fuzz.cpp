// The line of a .pub file: what is accepted has one text, one wire form and one fingerprint.

#include "core/public_key.h"
#include "fuzz/property.h"

namespace sshx::fuzz {
namespace {

void check(std::string_view line) {
  const auto key = parse_public_key(line);
  if (!key) {
    require(key.error().kind == ErrorKind::config && key.error().code == "public_key",
            "a line that is no key is config/public_key");
    require_presentable(key.error());
    return;
  }
  const auto text = public_key_text(*key);
  const auto again = parse_public_key(text);
  require(again && *again == *key, "a key reads back from its text");
  require(printable(text) == text, "the text of a key is plain");
  const auto from_blob = public_key_from_blob(key->blob);
  require(from_blob && *from_blob == *key, "the type of a key is the one in its wire form");
  constexpr std::size_t kLabelAndDigest = 7 + 43;
  const auto print = fingerprint(*key);
  require(print.starts_with("SHA256:") && print.size() == kLabelAndDigest,
          "a fingerprint has the form that ssh-keygen prints");
  const auto commented = parse_public_key(text + " a comment\r\n");
  require(commented && *commented == *key, "a comment does not change a key");
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
