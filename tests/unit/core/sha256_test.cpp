#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/sha256.h"

namespace sshx {
namespace {

using namespace std::string_view_literals;

TEST(Sha256, MatchesTheStandardsExamples) {
  // FIPS 180-4 examples.
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, LabelsDigests) {
  EXPECT_EQ(sha256_label("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// RFC 2202 §3.
TEST(HmacSha1, MatchesTheStandardsExamples) {
  EXPECT_EQ(to_hex(hmac_sha1(std::string(20, '\x0b'), "Hi There")),
            "b617318655057264e28bc0b6fb378c8ef146be00");
  EXPECT_EQ(to_hex(hmac_sha1("Jefe", "what do ya want for nothing?")),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(to_hex(hmac_sha1(std::string(80, '\xaa'),
                             "Test Using Larger Than Block-Size Key - Hash Key First")),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(RandomBytes, GivesAsManyAsAskedAndNeverTheSame) {
  EXPECT_EQ(random_bytes(0).size(), 0U);
  EXPECT_EQ(random_bytes(1000).size(), 1000U);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

TEST(Hex, WritesLowerCase) { EXPECT_EQ(to_hex("\x00\x0f\xff"sv), "000fff"); }

struct Pair {
  std::string_view bytes;
  std::string_view text;
};

// RFC 4648 §10.
constexpr Pair kPairs[] = {{"", ""},
                           {"f", "Zg=="},
                           {"fo", "Zm8="},
                           {"foo", "Zm9v"},
                           {"foob", "Zm9vYg=="},
                           {"fooba", "Zm9vYmE="},
                           {"foobar", "Zm9vYmFy"},
                           {"\xfb\xff\xfe", "+//+"}};

TEST(Base64, MatchesTheStandardsExamplesBothWays) {
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text).value(), bytes);
  }
}

TEST(Base64, LeavesPaddingOutOfFingerprints) {
  EXPECT_EQ(to_base64_unpadded("f"), "Zg");
  EXPECT_EQ(to_base64_unpadded("fo"), "Zm8");
  EXPECT_EQ(to_base64_unpadded("foo"), "Zm9v");
}

TEST(Base64, KeepsEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (std::size_t size = 250; size <= all.size(); ++size) {
    EXPECT_EQ(from_base64(to_base64(std::string_view(all).substr(0, size))).value(),
              all.substr(0, size));
  }
}

TEST(Base64, RefusesEverythingElse) {
  for (const std::string_view text : {"Zg", "Zg=", "Z===", "====", "Zm9v ", " Zm9v", "Zm9v\n",
                                      "Zm-v", "Zm9v=", "Zg==Zg==", "Zh==", "Zm9=", "=Zg="}) {
    const auto bytes = from_base64(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code, "base64") << text;
  }
}

}  // namespace
}  // namespace sshx
