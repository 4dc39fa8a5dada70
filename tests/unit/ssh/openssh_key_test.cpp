#include <gmock/gmock.h>

#include "core/sha256.h"
#include "core/wire.h"
#include "ssh/openssh_key.h"
#include "ssh/private_key.h"
#include "unit/loop/scratch.h"
#include "unit/ssh/verify.h"

namespace sshx::ssh {
namespace {

using test::KeyOptions;
using test::make_key;
using test::outcome_of;
using test::ScratchFolder;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kFormat = "auth/identity_format";
constexpr const char* kEncrypted = "auth/identity_encrypted";

/// PROTOCOL.key, every field open to be set wrongly.
struct Container {
  std::string magic = std::string("openssh-key-v1") + '\0';
  std::string cipher = "none";
  std::string kdf = "none";
  std::string kdf_options;
  std::uint32_t count = 1;
  std::string public_blob;
  std::uint32_t check1 = 0x01020304;
  std::uint32_t check2 = 0x01020304;
  std::string private_fields;
  std::string comment = "a comment";
};

std::string text_of(const Container& container) {
  WireWriter secret;
  secret.uint32(container.check1);
  secret.uint32(container.check2);
  WireWriter comment;
  comment.string(container.comment);
  std::string section = secret.bytes() + container.private_fields + comment.bytes();
  for (char pad = 1; section.size() % 8 != 0; ++pad) section += pad;
  WireWriter out;
  out.string(container.cipher);
  out.string(container.kdf);
  out.string(container.kdf_options);
  out.uint32(container.count);
  out.string(container.public_blob);
  out.string(section);
  std::string base64 = to_base64(container.magic + out.bytes());
  for (std::size_t at = 70; at < base64.size(); at += 71) base64.insert(at, "\n");
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64 + "\n-----END OPENSSH PRIVATE KEY-----\n";
}

std::string wire(std::initializer_list<std::string_view> strings) {
  WireWriter writer;
  for (const std::string_view text : strings) writer.string(text);
  return writer.bytes();
}

/// A key that ssh-keygen made, and its numbers.
struct Made {
  PublicKey public_key;
  OpensshKey parsed;
};

Made make(const KeyOptions& options = {}) {
  const ScratchFolder folder;
  const std::string path = folder.file("id");
  make_key(path, options);
  auto parsed = parse_openssh_key(test::read_text(path), path);
  EXPECT_EQ(outcome_of(parsed), "ok");
  return {test::public_key_in(path + ".pub"), *parsed};
}

std::string ed25519_point(const Made& made) {
  WireReader reader(made.public_key.blob);
  (void)reader.string();
  return std::string(reader.string().value_or(""));
}

std::string ed25519_seed(const Made& made) {
  return std::get<Ed25519Numbers>(made.parsed.numbers).seed;
}

Container ed25519_container(const Made& made) {
  Container container;
  container.public_blob = made.public_key.blob;
  container.private_fields =
      wire({"ssh-ed25519", ed25519_point(made), ed25519_seed(made) + ed25519_point(made)});
  return container;
}

std::string outcome(const Container& container) {
  return outcome_of(parse_private_key(text_of(container), "id"));
}

TEST(IsOpensshKeyTest, KnowsItsBeginLine) {
  EXPECT_TRUE(is_openssh_key("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"));
  EXPECT_FALSE(is_openssh_key("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"));
  EXPECT_FALSE(is_openssh_key("-----BEGIN PRIVATE KEY-----\n"));
  EXPECT_FALSE(is_openssh_key("ssh-ed25519 AAAA"));
  EXPECT_FALSE(is_openssh_key(""));
}

TEST(OpensshKeyTest, ThePublicHalfIsTheOneInThePubFile) {
  for (const KeyOptions& options :
       {KeyOptions{}, KeyOptions{.type = "ecdsa", .bits = "256"},
        KeyOptions{.type = "ecdsa", .bits = "384"}, KeyOptions{.type = "ecdsa", .bits = "521"},
        KeyOptions{.type = "rsa", .bits = "2048"}}) {
    const Made made = make(options);
    EXPECT_EQ(made.parsed.public_key, made.public_key) << options.type << options.bits;
  }
}

TEST(OpensshKeyTest, GivesTheNumbersOfEachKind) {
  const Made ed25519 = make();
  ASSERT_TRUE(std::holds_alternative<Ed25519Numbers>(ed25519.parsed.numbers));
  EXPECT_EQ(ed25519_seed(ed25519).size(), 32U);

  const Made ecdsa = make({.type = "ecdsa", .bits = "384"});
  ASSERT_TRUE(std::holds_alternative<EcdsaNumbers>(ecdsa.parsed.numbers));
  const auto& curve = std::get<EcdsaNumbers>(ecdsa.parsed.numbers);
  EXPECT_EQ(curve.curve, "nistp384");
  EXPECT_EQ(curve.point.size(), 97U);

  const Made rsa = make({.type = "rsa", .bits = "2048"});
  ASSERT_TRUE(std::holds_alternative<RsaNumbers>(rsa.parsed.numbers));
  const auto& numbers = std::get<RsaNumbers>(rsa.parsed.numbers);
  EXPECT_EQ(numbers.n.size(), 257U);
  EXPECT_EQ(numbers.e, std::string("\x01\x00\x01", 3));
}

TEST(ContainerTest, ASoundOneIsRead) { EXPECT_EQ(outcome(ed25519_container(make())), "ok"); }

TEST(ContainerTest, ACommentMayBeAnything) {
  Container container = ed25519_container(make());
  container.comment = std::string("\0\xff\n-----END", 11);
  EXPECT_EQ(outcome(container), "ok");
  container.comment.clear();
  EXPECT_EQ(outcome(container), "ok");
}

TEST(ContainerTest, ACipherMeansEncrypted) {
  Container container = ed25519_container(make());
  container.cipher = "aes256-ctr";
  container.kdf = "bcrypt";
  container.kdf_options = wire({"0123456789abcdef"}) + std::string("\0\0\0\x10", 4);
  EXPECT_EQ(outcome(container), kEncrypted);
}

TEST(ContainerTest, EachWrongFieldIsABadFormat) {
  const Container sound = ed25519_container(make());
  const auto wrong = [&sound](auto change) {
    Container container = sound;
    change(container);
    return outcome(container);
  };
  EXPECT_EQ(wrong([](Container& c) { c.magic = std::string("openssh-key-v2") + '\0'; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.magic = "openssh-key-v1"; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.count = 0; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.count = 2; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.count = 0xffffffff; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.check2 ^= 1U; }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.public_blob.clear(); }), kFormat);
  EXPECT_EQ(wrong([](Container& c) { c.private_fields.clear(); }), kFormat);
}

TEST(ContainerTest, KeysOfOtherTypesAreABadFormat) {
  for (const std::string type :
       {"ssh-dss", "sk-ssh-ed25519@openssh.com", "ssh-ed25519-cert-v01@openssh.com", "", "x"}) {
    Container container = ed25519_container(make());
    container.public_blob = wire({type, "public"});
    container.private_fields = wire({type, "one", "two", "three", "four", "five"});
    EXPECT_EQ(outcome(container), kFormat) << type;
  }
}

TEST(ContainerTest, AnotherTypeCannotPlayWithATerminal) {
  Container container = ed25519_container(make());
  container.private_fields = wire({"x\x1b[2J" + std::string(300, 'y'), "one"});
  const auto refused = parse_private_key(text_of(container), "id");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("\"x\\x1b[2Jyyy"));
  EXPECT_LT(refused.error().message.size(), 200U);
}

/// Two keys of one kind; the mixture of them is what an attacker or a careless copy gives.
class MismatchTest : public testing::Test {
 protected:
  Made one = make();
  Made two = make();
};

TEST_F(MismatchTest, TheContainersPublicKeyOfAnother) {
  Container container = ed25519_container(one);
  container.public_blob = two.public_key.blob;
  EXPECT_EQ(outcome(container), kFormat);
}

TEST_F(MismatchTest, TheInnerPublicKeyOfAnother) {
  Container container = ed25519_container(one);
  container.private_fields =
      wire({"ssh-ed25519", ed25519_point(two), ed25519_seed(one) + ed25519_point(one)});
  EXPECT_EQ(outcome(container), kFormat);
}

TEST_F(MismatchTest, TheSeedOfAnother) {
  Container container = ed25519_container(one);
  container.private_fields =
      wire({"ssh-ed25519", ed25519_point(one), ed25519_seed(two) + ed25519_point(one)});
  EXPECT_EQ(outcome(container), kFormat);
}

TEST_F(MismatchTest, WrongLengthsOfEd25519) {
  const std::string point = ed25519_point(one);
  const std::string seed = ed25519_seed(one);
  for (const std::string& fields :
       {wire({"ssh-ed25519", point, seed}), wire({"ssh-ed25519", point, seed + point + "x"}),
        wire({"ssh-ed25519", point, ""}), wire({"ssh-ed25519", "", seed + point}),
        wire({"ssh-ed25519", point})}) {
    Container container = ed25519_container(one);
    container.private_fields = fields;
    EXPECT_EQ(outcome(container), kFormat);
  }
}

TEST_F(MismatchTest, AnEcdsaScalarOfAnother) {
  const Made first = make({.type = "ecdsa", .bits = "256"});
  const Made second = make({.type = "ecdsa", .bits = "256"});
  const auto& numbers = std::get<EcdsaNumbers>(first.parsed.numbers);
  const auto& others = std::get<EcdsaNumbers>(second.parsed.numbers);
  const std::string type = "ecdsa-sha2-nistp256";
  Container container;
  container.public_blob = first.public_key.blob;
  container.private_fields = wire({type, "nistp256", numbers.point, numbers.scalar});
  EXPECT_EQ(outcome(container), "ok");
  container.private_fields = wire({type, "nistp256", numbers.point, others.scalar});
  EXPECT_EQ(outcome(container), kFormat);
  container.private_fields = wire({type, "nistp384", numbers.point, numbers.scalar});
  EXPECT_EQ(outcome(container), kFormat);
  container.private_fields = wire({type, "nistp256", std::string(65, '\4'), numbers.scalar});
  EXPECT_EQ(outcome(container), kFormat);
  container.private_fields = wire({type, "nistp256", numbers.point, ""});
  EXPECT_EQ(outcome(container), kFormat);
  container.private_fields = wire({type, "nistp256", numbers.point, std::string(4000, '\1')});
  EXPECT_EQ(outcome(container), kFormat);
}

std::string rsa_fields(const RsaNumbers& numbers) {
  return wire({"ssh-rsa", numbers.n, numbers.e, numbers.d, numbers.iqmp, numbers.p, numbers.q});
}

TEST_F(MismatchTest, AnRsaNumberOfAnother) {
  const Made first = make({.type = "rsa", .bits = "2048"});
  const Made second = make({.type = "rsa", .bits = "2048"});
  const auto& sound = std::get<RsaNumbers>(first.parsed.numbers);
  const auto& other = std::get<RsaNumbers>(second.parsed.numbers);
  Container container;
  container.public_blob = first.public_key.blob;
  container.private_fields = rsa_fields(sound);
  EXPECT_EQ(outcome(container), "ok");
  for (auto member : {&RsaNumbers::n, &RsaNumbers::d, &RsaNumbers::p, &RsaNumbers::q}) {
    RsaNumbers mixed = sound;
    mixed.*member = other.*member;
    container.private_fields = rsa_fields(mixed);
    EXPECT_EQ(outcome(container), kFormat);
    mixed.*member = "";
    container.private_fields = rsa_fields(mixed);
    EXPECT_EQ(outcome(container), kFormat);
  }
}

TEST(ErrorTest, NamesThePathAndWhatToDo) {
  const Error format = identity_format_error("/home/a/.ssh/id", "it ends too early");
  EXPECT_EQ(format.kind, ErrorKind::auth);
  EXPECT_EQ(format.code, "identity_format");
  EXPECT_THAT(format.message, HasSubstr("/home/a/.ssh/id"));
  EXPECT_THAT(format.message, HasSubstr("it ends too early"));
  const Error encrypted = identity_encrypted_error("/home/a/.ssh/id");
  EXPECT_EQ(encrypted.kind, ErrorKind::auth);
  EXPECT_EQ(encrypted.code, "identity_encrypted");
  EXPECT_THAT(encrypted.message, HasSubstr("/home/a/.ssh/id"));
  EXPECT_THAT(encrypted.hint, HasSubstr("ssh-add"));
}

}  // namespace
}  // namespace sshx::ssh
