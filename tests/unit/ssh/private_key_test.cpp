#include <gmock/gmock.h>

#include "core/sha256.h"
#include "ssh/private_key.h"
#include "unit/loop/scratch.h"
#include "unit/ssh/verify.h"

namespace sshx::ssh {
namespace {

using test::KeyOptions;
using test::Loop;
using test::make_key;
using test::outcome_of;
using test::ScratchFolder;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFormat = "auth/identity_format";
constexpr const char* kEncrypted = "auth/identity_encrypted";

using SignerResult = Result<std::unique_ptr<Signer>>;

struct Kind {
  std::string name;
  KeyOptions options;
  std::vector<std::string> algorithms;
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  const auto add = [&all](const std::string& type, const std::string& bits,
                          const std::vector<std::string>& formats,
                          const std::vector<std::string>& algorithms) {
    for (const std::string& format : formats) {
      const std::string name = type + bits + format;
      all.push_back({name, {.type = type, .bits = bits, .format = format}, algorithms});
    }
  };
  add("ed25519", "", {"RFC4716"}, {"ssh-ed25519"});
  for (const std::string bits : {"256", "384", "521"})
    add("ecdsa", bits, {"RFC4716", "PEM", "PKCS8"}, {"ecdsa-sha2-nistp" + bits});
  for (const std::string bits : {"2048", "3072"})
    add("rsa", bits, {"RFC4716", "PEM", "PKCS8"}, {"rsa-sha2-256", "rsa-sha2-512"});
  return all;
}

void expect_signs(Signer& signer, EVP_PKEY* judge, const std::string& algorithm) {
  Loop loop;
  const std::string data = "what the server asks for, " + algorithm;
  auto signature = loop.run(signer.sign(data, algorithm));
  ASSERT_EQ(outcome_of(signature), "ok") << algorithm;
  EXPECT_TRUE(test::verifies(judge, data, algorithm, *signature)) << algorithm;
  EXPECT_FALSE(test::verifies(judge, data + ".", algorithm, *signature)) << algorithm;
}

class KindTest : public testing::TestWithParam<Kind> {
 protected:
  ScratchFolder folder;
};

// B072
TEST_P(KindTest, LoadsAndSigns) {
  const std::string path = folder.file("id");
  make_key(path, GetParam().options);
  SignerResult signer = load_private_key(path);
  ASSERT_EQ(outcome_of(signer), "ok");
  EXPECT_EQ((*signer)->public_key(), test::public_key_in(path + ".pub"));
  EXPECT_THAT((*signer)->description(), HasSubstr(path));
  const auto judge = test::openssl_public_key(path + ".pub");
  ASSERT_NE(judge, nullptr);
  for (const std::string& algorithm : GetParam().algorithms)
    expect_signs(**signer, judge.get(), algorithm);
}

TEST_P(KindTest, RefusesAnotherKindsAlgorithm) {
  const std::string path = folder.file("id");
  make_key(path, GetParam().options);
  SignerResult signer = load_private_key(path);
  ASSERT_EQ(outcome_of(signer), "ok");
  const bool is_rsa = GetParam().options.type == "rsa";
  // SHA-1 signatures (RFC 4253's ssh-rsa) are not made.
  const std::vector<std::string> wrong =
      is_rsa ? std::vector<std::string>{"ssh-rsa", "ssh-ed25519", ""}
             : std::vector<std::string>{"rsa-sha2-512", "ecdsa-sha2-nistp999", ""};
  Loop loop;
  for (const std::string& algorithm : wrong) {
    auto signature = loop.run((*signer)->sign("data", algorithm));
    ASSERT_FALSE(signature.has_value()) << algorithm;
    EXPECT_EQ(signature.error().kind, ErrorKind::unsupported) << algorithm;
  }
}

// B071
TEST_P(KindTest, AnEncryptedKeyIsToldApart) {
  const std::string path = folder.file("id");
  KeyOptions options = GetParam().options;
  options.passphrase = "correct horse";
  make_key(path, options);
  const SignerResult signer = load_private_key(path);
  ASSERT_EQ(outcome_of(signer), kEncrypted);
  EXPECT_THAT(signer.error().message, HasSubstr(path));
  EXPECT_FALSE(signer.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(SshKeygen, KindTest, testing::ValuesIn(kinds()),
                         [](const auto& instance) { return instance.param.name; });

TEST(EcdsaTest, EverySignatureHasCanonicalNumbers) {
  const ScratchFolder folder;
  const std::string path = folder.file("id");
  make_key(path, {.type = "ecdsa", .bits = "521"});
  SignerResult signer = load_private_key(path);
  ASSERT_EQ(outcome_of(signer), "ok");
  const auto judge = test::openssl_public_key(path + ".pub");
  Loop loop;
  for (int i = 0; i < 64; ++i) {
    const std::string data = "data " + std::to_string(i);
    auto signature = loop.run((*signer)->sign(data, "ecdsa-sha2-nistp521"));
    ASSERT_EQ(outcome_of(signature), "ok");
    EXPECT_TRUE(test::verifies(judge.get(), data, "ecdsa-sha2-nistp521", *signature)) << i;
  }
}

TEST(Ed25519Test, Pkcs8FromOpensslLoadsAndSigns) {
  const test::KeyPointer key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const test::BioPointer out(BIO_new(BIO_s_mem()));
  ASSERT_EQ(
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
      1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  SignerResult signer =
      parse_private_key(std::string_view(text, static_cast<std::size_t>(size)), "id");
  ASSERT_EQ(outcome_of(signer), "ok");
  EXPECT_EQ((*signer)->public_key().type, "ssh-ed25519");
  expect_signs(**signer, key.get(), "ssh-ed25519");
}

TEST(EncryptedTest, EveryCipherOfOpensshIsToldApart) {
  const ScratchFolder folder;
  for (const std::string cipher :
       {"aes256-ctr", "aes256-cbc", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"}) {
    const std::string path = folder.file("id-" + cipher);
    test::run_program(
        {"ssh-keygen", "-q", "-t", "ed25519", "-Z", cipher, "-N", "passphrase", "-f", path});
    EXPECT_EQ(outcome_of(load_private_key(path)), kEncrypted) << cipher;
  }
}

/// Damaged keys. Nothing may crash (the sanitizers watch) or pass for sound.
class DamagedKeyTest : public testing::TestWithParam<Kind> {
 protected:
  DamagedKeyTest() { make_key(path_, GetParam().options); }

  [[nodiscard]] std::string key_text() const { return test::read_text(path_); }

  [[nodiscard]] PublicKey public_key() const { return test::public_key_in(path_ + ".pub"); }

  [[nodiscard]] EVP_PKEY* judge() {
    if (!judge_) judge_ = test::openssl_public_key(path_ + ".pub");
    return judge_.get();
  }

 private:
  ScratchFolder folder_;
  std::string path_ = folder_.file("id");
  test::KeyPointer judge_;
};

std::string algorithm_of(const Kind& kind) {
  if (kind.options.type == "rsa") return "rsa-sha2-512";
  return kind.options.type == "ecdsa" ? "ecdsa-sha2-nistp" + kind.options.bits : "ssh-ed25519";
}

TEST_P(DamagedKeyTest, EveryTruncationIsABadFormat) {
  const std::string text = key_text();
  const std::size_t end_line = text.find("-----END");
  ASSERT_NE(end_line, std::string::npos);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string outcome = outcome_of(parse_private_key(text.substr(0, size), "id"));
    if (size <= end_line) {
      ASSERT_EQ(outcome, kFormat) << size;
    } else {
      ASSERT_THAT(outcome, AnyOf("ok", kFormat)) << size;
    }
  }
}

/// The bytes that the lines between the first and the last stand for.
std::string body_of(const std::string& text) {
  std::string base64;
  std::size_t from = text.find('\n') + 1;
  const std::size_t to = text.find("-----END");
  for (; from < to; ++from)
    if (text[from] != '\n') base64 += text[from];
  auto bytes = from_base64(base64);
  EXPECT_TRUE(bytes.has_value());
  return bytes.has_value() ? *bytes : std::string();
}

/// `text` with other bytes there.
std::string with_body(const std::string& text, std::string_view body) {
  std::string base64 = to_base64(body);
  constexpr std::size_t kLine = 64;
  for (std::size_t at = kLine; at < base64.size(); at += kLine + 1) base64.insert(at, "\n");
  return text.substr(0, text.find('\n') + 1) + base64 + "\n" + text.substr(text.find("-----END"));
}

TEST_P(DamagedKeyTest, EveryShorterBodyIsABadFormat) {
  const std::string text = key_text();
  const std::string body = body_of(text);
  ASSERT_EQ(outcome_of(parse_private_key(with_body(text, body), "id")), "ok");
  for (std::size_t size = 0; size < body.size(); ++size)
    ASSERT_EQ(outcome_of(parse_private_key(with_body(text, body.substr(0, size)), "id")), kFormat)
        << size;
}

TEST_P(DamagedKeyTest, AFlippedByteNeverGivesAKeyThatSignsForAnother) {
  const std::string text = key_text();
  const std::string body = body_of(text);
  const std::string algorithm = algorithm_of(GetParam());
  for (std::size_t at = 0; at < body.size(); ++at) {
    std::string damaged = body;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    SignerResult signer = parse_private_key(with_body(text, damaged), "id");
    ASSERT_THAT(outcome_of(signer), AnyOf("ok", kFormat, kEncrypted)) << at;
    if (!signer.has_value()) continue;
    // What was damaged did not matter: a comment, say.
    ASSERT_EQ((*signer)->public_key(), public_key()) << at;
    expect_signs(**signer, judge(), algorithm);
  }
}

std::vector<Kind> few_kinds() {
  return {{"ed25519", {}, {}},
          {"ecdsa256Openssh", {.type = "ecdsa", .bits = "256"}, {}},
          {"ecdsa384Pem", {.type = "ecdsa", .bits = "384", .format = "PEM"}, {}},
          {"ecdsa256Pkcs8", {.type = "ecdsa", .bits = "256", .format = "PKCS8"}, {}},
          {"rsa2048Openssh", {.type = "rsa", .bits = "2048"}, {}},
          {"rsa2048Pem", {.type = "rsa", .bits = "2048", .format = "PEM"}, {}}};
}

INSTANTIATE_TEST_SUITE_P(SshKeygen, DamagedKeyTest, testing::ValuesIn(few_kinds()),
                         [](const auto& instance) { return instance.param.name; });

TEST(GarbageTest, IsABadFormat) {
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  const std::string end = "-----END OPENSSH PRIVATE KEY-----\n";
  const std::vector<std::string> texts{
      "",
      "\n",
      "root:x:0:0:root:/root:/bin/bash\n",
      std::string(1000, '\0'),
      std::string(1000, '\xff'),
      begin,
      begin + end,
      begin + "!!!!\n" + end,
      begin + "AAAA\n" + end,
      begin + begin + end,
      end + begin,
      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
      "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n"};
  for (const std::string& text : texts) {
    const SignerResult signer = parse_private_key(text, "/home/alice/.ssh/id");
    ASSERT_EQ(outcome_of(signer), kFormat) << text.substr(0, 60);
    EXPECT_THAT(signer.error().message, HasSubstr("/home/alice/.ssh/id"));
  }
}

TEST(GarbageTest, MessagesNeverQuoteTheKey) {
  const ScratchFolder folder;
  const std::string path = folder.file("id");
  make_key(path);
  const std::string text = test::read_text(path);
  const std::string secret = text.substr(text.size() / 2, 20);
  const SignerResult signer = parse_private_key(text.substr(0, text.size() - 60), path);
  ASSERT_EQ(outcome_of(signer), kFormat);
  EXPECT_THAT(signer.error().message + signer.error().hint, Not(HasSubstr(secret)));
}

TEST(GarbageTest, AKeyThatCannotSignIsABadFormat) {
  const test::BioPointer out(BIO_new(BIO_s_mem()));
  const test::KeyPointer key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  ASSERT_EQ(
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
      1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  EXPECT_EQ(
      outcome_of(parse_private_key(std::string_view(text, static_cast<std::size_t>(size)), "id")),
      kFormat);
}

class LoadTest : public testing::Test {
 protected:
  LoadTest() { make_key(path); }

  ScratchFolder folder;
  std::string path = folder.file("id");
};

TEST_F(LoadTest, AMissingFile) {
  const SignerResult signer = load_private_key(folder.file("none"));
  ASSERT_EQ(outcome_of(signer), "auth/identity_missing");
  EXPECT_THAT(signer.error().message, HasSubstr(folder.file("none")));
}

TEST_F(LoadTest, AMissingFolder) {
  EXPECT_EQ(outcome_of(load_private_key(folder.file("none/id"))), "auth/identity_missing");
}

// ssh(1): a private key file that others can access is not used.
TEST_F(LoadTest, AFileThatOthersCanAccessIsRefusedWithTheFix) {
  for (const mode_t mode : {0644U, 0640U, 0604U, 0660U, 0620U, 0602U, 0777U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const SignerResult signer = load_private_key(path);
    ASSERT_EQ(outcome_of(signer), "auth/identity_permission") << mode;
    EXPECT_THAT(signer.error().hint, HasSubstr("chmod"));
    EXPECT_THAT(signer.error().hint, HasSubstr(path));
  }
}

TEST_F(LoadTest, AFileThatOnlyItsOwnerCanAccessIsTaken) {
  for (const mode_t mode : {0600U, 0400U, 0700U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(outcome_of(load_private_key(path)), "ok") << mode;
  }
}

TEST_F(LoadTest, ALinkIsFollowed) {
  const std::string link = folder.file("link");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_EQ(outcome_of(load_private_key(link)), "ok");
}

TEST_F(LoadTest, ALoopOfLinksIsAnError) {
  const std::string link = folder.file("loop");
  ASSERT_EQ(symlink(link.c_str(), link.c_str()), 0);
  EXPECT_THAT(outcome_of(load_private_key(link)), testing::StartsWith("auth/"));
}

TEST_F(LoadTest, AFolderIsNoKey) {
  const std::string inner = folder.file("inner");
  ASSERT_EQ(mkdir(inner.c_str(), 0700), 0);
  const SignerResult signer = load_private_key(inner);
  EXPECT_THAT(outcome_of(signer), AnyOf(kFormat, "auth/identity_missing"));
}

TEST_F(LoadTest, AFifoDoesNotBlock) {
  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(outcome_of(load_private_key(fifo)), testing::StartsWith("auth/"));
}

TEST_F(LoadTest, AnEndlessDeviceIsNotRead) {
  EXPECT_THAT(outcome_of(load_private_key("/dev/zero")), testing::StartsWith("auth/"));
}

TEST_F(LoadTest, AHugeFileIsNotRead) {
  const std::string huge = folder.file("huge");
  test::write_file(huge, "");
  ASSERT_EQ(truncate(huge.c_str(), off_t{1} << 40U), 0);
  EXPECT_THAT(outcome_of(load_private_key(huge)), testing::StartsWith("auth/"));
}

TEST_F(LoadTest, ThePublicHalfIsNoPrivateKey) {
  ASSERT_EQ(chmod((path + ".pub").c_str(), 0600), 0);
  EXPECT_EQ(outcome_of(load_private_key(path + ".pub")), kFormat);
}

}  // namespace
}  // namespace sshx::ssh
