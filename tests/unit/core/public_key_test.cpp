#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "core/public_key.h"
#include "core/sha256.h"

namespace sshx {
namespace {

using ::testing::HasSubstr;

// Made by ssh-keygen for this test; the private halves were thrown away.
constexpr std::string_view kEd25519 =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMkkrVfFr9rdwAlliZirvCySvkv1XIFSOjv1pVky5+xg";
constexpr std::string_view kEcdsa =
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPnhIDuvCBgGvSdUKdqcgL0Cw7xOVIkXrYPxzGOh"
    "uTsGVTGchbRn38+MRhkBlCWzTBcJ7zZnNiom7zXSWxuFcWY=";

std::string wire_string(std::string_view text) {
  std::string wire{'\0', '\0', '\0', static_cast<char>(text.size())};
  return wire.append(text);
}

std::string rsa_blob() {
  return wire_string("ssh-rsa") + wire_string("\x01\x00\x01") + wire_string("modulus");
}

TEST(Fingerprint, IsWhatSshKeygenPrints) {
  EXPECT_EQ(fingerprint(parse_public_key(kEd25519).value()),
            "SHA256:ngSonBfko62Zfk3IwAgZ9Fi6HzZFRk3mrFEUfiHrm/I");
}

TEST(ParsePublicKey, ReadsWhatPublicKeyTextWrites) {
  for (const auto text : {kEd25519, kEcdsa})
    EXPECT_EQ(public_key_text(parse_public_key(text).value()), text);
}

TEST(ParsePublicKey, TakesBlanksTabsCommentsAndCarriageReturns) {
  const auto key = parse_public_key(kEd25519).value();
  const std::string tabs =
      "\t " + std::string(kEd25519.substr(0, 11)) + "\t  " + std::string(kEd25519.substr(12));
  for (const auto& text : {std::string(kEd25519) + " alice@host", std::string(kEd25519) + "\r\n",
                           std::string(kEd25519) + "\tc d\r", tabs}) {
    EXPECT_EQ(parse_public_key(text).value(), key) << text;
  }
}

TEST(ParsePublicKey, TakesTheTypeFromTheBlob) {
  const auto encoded = to_base64(rsa_blob());
  for (const std::string name : {"ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"}) {
    EXPECT_EQ(parse_public_key(name + " " + encoded).value().type, "ssh-rsa");
  }
}

TEST(ParsePublicKey, RefusesEverythingElseAndSaysWhy) {
  const auto why = [](const std::string& text) {
    const auto key = parse_public_key(text);
    return key ? "no error" : key.error().code + ": " + key.error().message;
  };
  const std::string ed25519(kEd25519);
  EXPECT_EQ(why(""), "public_key: no key");
  EXPECT_THAT(why("ssh-foo AAAA"), HasSubstr("unknown key type \"ssh-foo\""));
  EXPECT_THAT(why("\x1b[2J AAAA"), HasSubstr("\\x1b[2J"));
  EXPECT_THAT(why("ssh-ed25519"), HasSubstr("not a whole ssh-ed25519 key"));
  EXPECT_THAT(why("ssh-ed25519 !!!!"), HasSubstr("not valid base64"));
  EXPECT_THAT(why(ed25519.substr(0, ed25519.size() - 4)), HasSubstr("not a whole ssh-ed25519 key"));
  EXPECT_THAT(why(ed25519 + "AAAA"), HasSubstr("not a whole ssh-ed25519 key"));
  EXPECT_THAT(why("ssh-rsa " + ed25519.substr(12)), HasSubstr("not a whole ssh-rsa key"));
}

TEST(PublicKeyFromBlob, NamesTheBlobsOwnType) {
  EXPECT_EQ(public_key_from_blob(rsa_blob()).value().type, "ssh-rsa");
  for (const std::string& blob :
       {std::string(), std::string("\0\0\0", 3), std::string("\0\0\0\x09xx", 6)}) {
    EXPECT_EQ(public_key_from_blob(blob).error().kind, ErrorKind::protocol);
  }
}

}  // namespace
}  // namespace sshx
