#include <gtest/gtest.h>

#include <string_view>

#include "core/utf8.h"

namespace sshx {
namespace {

using namespace std::string_view_literals;

TEST(Utf8, AcceptsWellFormedText) {
  for (const auto text :
       {""sv, "plain"sv, "\0"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv,
        "\xEE\x80\x80"sv, "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv}) {
    EXPECT_TRUE(is_utf8(text)) << printable(text);
  }
}

// RFC 3629 §3 and §4.
TEST(Utf8, RefusesMalformedText) {
  for (const auto text :
       {"\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC2"sv, "\xC2\x41"sv, "\xE0\x9F\xBF"sv,
        "\xE2\x82"sv, "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xF0\x8F\xBF\xBF"sv, "\xF0\x90\x80"sv,
        "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv, "a\xFF"sv}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
  }
}

struct Sample {
  std::string_view text;
  std::string_view shown;
};

TEST(Printable, ShowsWhatATerminalWouldObey) {
  constexpr Sample kSamples[] = {
      {"plain text ~", "plain text ~"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"a\nb\tc\rd", "a\\nb\\tc\\x0d"
                     "d"},
      {"\0\x7f"sv, "\\x00\\x7f"},
      {"\xC2\x9B"
       "31m",
       "\\u009b31m"},
      {"user\xE2\x80\xAEtxt", "user\\u202etxt"},
      {"a\xE2\x80\x8B"
       "b",
       "a\\u200bb"},
      {"\xE2\x81\xA6x", "\\u2066x"},
      {"\xEF\xBB\xBF", "\\ufeff"},
      {"\xF3\xA0\x80\x81", "\\ue0001"},
      {"\xFF\xE2\x82", "\\xff\\xe2\\x82"},
      {"Gr\xC3\xBC\xC3\x9F"
       "e \xE6\x97\xA5 \xF0\x9F\x98\x80",
       "Gr\xC3\xBC\xC3\x9F"
       "e \xE6\x97\xA5 \xF0\x9F\x98\x80"},
  };
  for (const auto& [text, shown] : kSamples) EXPECT_EQ(printable(text), shown);
}

}  // namespace
}  // namespace sshx
