#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

#include "core/wall_time.h"

namespace sshx {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// 2026-12-01T01:02:03.004Z
constexpr WallTime kNow = WallTime(milliseconds(1796086923004LL));

TEST(Rfc3339, WritesUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(kNow), "2026-12-01T01:02:03.004Z");
  EXPECT_EQ(rfc3339(WallTime()), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(WallTime(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(rfc3339(WallTime(seconds(1709164800))), "2024-02-29T00:00:00.000Z");
}

TEST(ParseTime, ReadsTimestamps) {
  struct Sample {
    std::string_view text;
    std::string_view utc;
  };

  constexpr Sample kSamples[] = {
      {"2026-12-01T01:02:03Z", "2026-12-01T01:02:03.000Z"},
      {"2026-12-01T01:02:03.004Z", "2026-12-01T01:02:03.004Z"},
      {"2026-12-01T01:02:03.0045678Z", "2026-12-01T01:02:03.004Z"},
      {"2026-12-01t01:02:03.5z", "2026-12-01T01:02:03.500Z"},
      {"2026-12-01 01:02:03Z", "2026-12-01T01:02:03.000Z"},
      {"2026-12-01T01:02:03+02:00", "2026-11-30T23:02:03.000Z"},
      {"2026-12-31T23:30:00-01:30", "2027-01-01T01:00:00.000Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
      {"2026-12-01", "2026-12-01T00:00:00.000Z"},
      {"2h", "2026-11-30T23:02:03.004Z"},
      {"7d", "2026-11-24T01:02:03.004Z"},
      {"1h30m", "2026-11-30T23:32:03.004Z"},
  };
  for (const auto& [text, utc] : kSamples) {
    const auto time = parse_time(text, kNow);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(rfc3339(*time), utc) << text;
  }
}

TEST(ParseTime, ReadsBackWhatRfc3339Writes) {
  EXPECT_EQ(parse_time(rfc3339(kNow), WallTime()).value(), kNow);
}

TEST(ParseTime, RefusesEverythingElse) {
  for (const std::string_view text :
       {"", "now", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-12-01T",
        "2026-12-01T01:02Z", "2026-12-01T24:00:00Z", "2026-12-01T01:60:00Z", "2026-12-01T01:02:61Z",
        "2026-12-01T01:02:03", "2026-12-01T01:02:03.Z", "2026-12-01T01:02:03+2",
        "2026-12-01T01:02:03Zx", "-2h", "2", "1796086923", "99999999999d"}) {
    const auto time = parse_time(text, kNow);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().code, "time");
    EXPECT_NE(time.error().hint, "");
  }
}

}  // namespace
}  // namespace sshx
