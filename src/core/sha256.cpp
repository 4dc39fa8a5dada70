#include "core/sha256.h"

// The plain functions, which OpenSSL 3 calls deprecated: the way through EVP sets up the whole
// library for one hash, which is most of what a dry-run takes.
// NOLINTNEXTLINE(readability-identifier-naming): the name is OpenSSL's.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>

namespace sshx {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_base64_values() {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

constexpr auto kBase64Values = make_base64_values();
/// Where the bytes of a group stand in its bits.
constexpr std::array<unsigned, 3> kByteShifts{16, 8, 0};

/// The bits of up to four digits, the first in the highest place; nothing when one of them is no
/// base64 digit.
std::optional<std::uint32_t> quantum(std::string_view digits) {
  std::uint32_t bits = 0;
  for (const char digit : digits) {
    const auto value = kBase64Values[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
  }
  return bits << (6U * static_cast<unsigned>(4 - digits.size()));
}

template <std::size_t Size>
std::string text_of(const std::array<unsigned char, Size>& digest) {
  return {digest.begin(), digest.end()};
}

/// SHA-1 of the parts, one after the other.
std::string sha1(std::initializer_list<std::string_view> parts) {
  SHA_CTX context{};
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1_Init(&context);
  for (const auto part : parts) SHA1_Update(&context, part.data(), part.size());
  SHA1_Final(digest.data(), &context);
  return text_of(digest);
}

Error base64_error() {
  return config_error("base64", "not valid base64 (RFC 4648, padded, without white space)");
}

}  // namespace

std::string sha256(std::string_view bytes) {
  SHA256_CTX context{};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return text_of(digest);
}

std::string sha256_label(std::string_view bytes) { return "sha256:" + to_hex(sha256(bytes)); }

std::string hmac_sha1(std::string_view key, std::string_view message) {
  // Not HMAC(): OpenSSL 3 looks the algorithm up anew in each call, which costs five times the
  // hashing, and a known_hosts file may have tens of thousands of hashed names.
  constexpr std::size_t kBlock = 64;
  const auto short_key = key.size() > kBlock ? sha1({key}) : std::string(key);
  std::string inner(kBlock, '\x36');
  std::string outer(kBlock, '\x5c');
  for (std::size_t i = 0; i < short_key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ short_key[i]);
    outer[i] = static_cast<char>(outer[i] ^ short_key[i]);
  }
  return sha1({outer, sha1({inner, message})});
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const auto got = getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno != EINTR) throw std::runtime_error("the system offers no random bytes");
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

std::string to_base64_unpadded(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned pending = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    pending += 8;
    while (pending >= 6) {
      pending -= 6;
      text += kBase64Digits[(bits >> pending) & 63U];
    }
  }
  if (pending > 0) text += kBase64Digits[(bits << (6 - pending)) & 63U];
  return text;
}

std::string to_base64(std::string_view bytes) {
  auto text = to_base64_unpadded(bytes);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return base64_error();
  std::string bytes(text.size() / 4 * 3, '\0');
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    auto group = text.substr(at, 4);
    if (at + 4 == text.size()) {
      if (group.ends_with('=')) group.remove_suffix(1);
      if (group.ends_with('=')) group.remove_suffix(1);
    }
    const auto bits = quantum(group);
    if (!bits || group.size() < 2) return base64_error();
    const std::size_t count = group.size() - 1;
    // Bits beyond the last byte must be zero, else one value would have several spellings (RFC 4648
    // §3.5).
    if ((*bits & ((1U << (8U * (3 - count))) - 1)) != 0) return base64_error();
    for (const unsigned shift : std::span(kByteShifts).first(count)) {
      bytes[size++] = static_cast<char>((*bits >> shift) & 255U);
    }
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace sshx
