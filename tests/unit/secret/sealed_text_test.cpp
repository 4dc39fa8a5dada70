#include <gmock/gmock.h>

#include "core/json.h"
#include "secret/sealed_text.h"

namespace sshx::secret {
namespace {

using testing::HasSubstr;
using testing::Not;

Secret secret(std::string text) { return Secret(std::move(text)); }

TEST(SealedTextTest, WhatWasSealedComesBack) {
  const auto text = std::string("a\0b\xff", 4);
  const auto sealed = seal(secret(text), secret("passphrase"));
  ASSERT_TRUE(sealed.has_value());
  EXPECT_THAT(*sealed, Not(HasSubstr("passphrase")));
  const auto opened = unseal(*sealed, secret("passphrase"));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->reveal(), text);
}

TEST(SealedTextTest, TheSameTextIsNeverSealedTheSame) {
  const auto first = parse_json(*seal(secret("a"), secret("b")), "first").value();
  const auto second = parse_json(*seal(secret("a"), secret("b")), "second").value();
  for (const auto* name : {"salt", "nonce", "data"}) EXPECT_NE(first[name], second[name]) << name;
}

TEST(SealedTextTest, AnotherPassphraseOpensNothing) {
  const auto sealed = seal(secret("a"), secret("passphrase")).value();
  EXPECT_EQ(unseal(sealed, secret("Passphrase")).error().code, "vault_passphrase");
  EXPECT_EQ(unseal(sealed, secret("")).error().code, "vault_passphrase");
}

/// The code for a sealed text with that property changed.
std::string code_with(const char* name, Json value) {
  auto document = parse_json(seal(secret("text"), secret("p")).value(), "it").value();
  document[name] = std::move(value);
  const auto opened = unseal(dump_json(document), secret("p"));
  return opened ? "opened" : opened.error().code;
}

// A changed file must neither open nor choose what the derivation costs.
TEST(SealedTextTest, NothingOfItCanBeChanged) {
  EXPECT_EQ(code_with("log_n", 30), "vault_format");
  EXPECT_EQ(code_with("log_n", 1), "vault_format");
  EXPECT_EQ(code_with("r", 1000), "vault_format");
  EXPECT_EQ(code_with("kdf", "md5"), "vault_format");
  EXPECT_EQ(code_with("cipher", "none"), "vault_format");
  EXPECT_EQ(code_with("more", true), "vault_format");
  EXPECT_EQ(code_with("salt", "AAAA"), "vault_format");
  EXPECT_EQ(code_with("salt", 5), "vault_format");
  EXPECT_EQ(code_with("data", "AAAA"), "vault_format");
  EXPECT_EQ(code_with("salt", "AAAAAAAAAAAAAAAAAAAAAA=="), "vault_passphrase");
  EXPECT_EQ(code_with("nonce", "AAAAAAAAAAAAAAAA"), "vault_passphrase");
  EXPECT_EQ(code_with("data", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), "vault_passphrase");
}

TEST(SealedTextTest, WhatIsNoVaultIsTold) {
  for (const auto* text : {"", "{", "[]", "null", "{}", "\xff"})
    EXPECT_EQ(unseal(text, secret("p")).error().code, "vault_format") << text;
}

}  // namespace
}  // namespace sshx::secret
