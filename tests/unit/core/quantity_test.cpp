#include <gtest/gtest.h>

#include <string_view>

#include "core/quantity.h"

namespace sshx {
namespace {

TEST(ParseDuration, ReadsUnitsAndPlainSeconds) {
  struct Sample {
    std::string_view text;
    double seconds;
  };

  constexpr Sample kSamples[] = {{"0", 0},        {"30", 30},      {"30s", 30},
                                 {"2m", 120},     {"1h30m", 5400}, {"1h0m5s", 3605},
                                 {"250ms", 0.25}, {"1.5s", 1.5},   {"1s500ms", 1.5},
                                 {"7d", 604800},  {"0.1", 0.1},    {"1d2h", 93600}};
  for (const auto& [text, seconds] : kSamples)
    EXPECT_DOUBLE_EQ(parse_duration(text).value(), seconds) << text;
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const std::string_view text :
       {"", " ", "s", "-1", "+1", "1 s", "1x", "30m1h", "1m1m", "1h30", "1e5", "inf", "nan", "0x10",
        "1,5s", "1s ", ".5", "1..5s", "1sm"}) {
    const auto seconds = parse_duration(text);
    ASSERT_FALSE(seconds) << text;
    EXPECT_EQ(seconds.error().kind, ErrorKind::config);
    EXPECT_EQ(seconds.error().code, "duration");
    EXPECT_NE(seconds.error().hint, "");
  }
}

TEST(ParseSize, ReadsPowersOf1024) {
  struct Sample {
    std::string_view text;
    long long bytes;
  };

  constexpr Sample kSamples[] = {
      {"0", 0},          {"512", 512},       {"10K", 10240},
      {"10KiB", 10240},  {"10k", 10240},     {"1M", 1048576},
      {"1MiB", 1048576}, {"2G", 2147483648}, {"9223372036854775807", 9223372036854775807}};
  for (const auto& [text, bytes] : kSamples) EXPECT_EQ(parse_size(text).value(), bytes) << text;
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const std::string_view text : {"", "K", "-1", "+1", "1.5M", "1 M", "1KB", "1T", "1Ki",
                                      "0x10", "9223372036854775808", "9999999999999G"}) {
    const auto bytes = parse_size(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code, "size");
  }
}

}  // namespace
}  // namespace sshx
