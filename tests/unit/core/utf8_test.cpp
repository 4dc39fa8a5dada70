#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

TEST(Utf8, CountsCharactersRatherThanBytes) {
  EXPECT_EQ(character_count("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 4U);
  EXPECT_TRUE(is_continuation('\x80'));
  EXPECT_TRUE(is_continuation('\xBF'));
  EXPECT_FALSE(is_continuation('a'));
  EXPECT_FALSE(is_continuation('\xC3'));
}

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

/// What a stream shows of `pieces`.
std::string shown(const std::vector<std::string_view>& pieces) {
  PrintableStream stream;
  std::string all;
  for (const auto piece : pieces) all += stream.next(piece);
  return all + stream.end();
}

// B149
TEST(PrintableStream, KeepsNewlineAndTabAndShowsTheRest) {
  EXPECT_EQ(shown({"a\nb\tc\r\n"}), "a\nb\tc\\x0d\n");
  EXPECT_EQ(shown({"\x1b]52;c;aGk=\x07"}), "\\x1b]52;c;aGk=\\x07");
  EXPECT_EQ(shown({"\x1b]8;;http://x\x1b\\"}), "\\x1b]8;;http://x\\x1b\\");
  EXPECT_EQ(shown({"\x9b"
                   "31m"}),
            "\\x9b31m");
  EXPECT_EQ(shown({"\xC2\x9B"
                   "31m"}),
            "\\u009b31m");
  EXPECT_EQ(shown({"\xE2\x80\xAE"}), "\\u202e");
  EXPECT_EQ(shown({"\0\x7f\b"sv}), "\\x00\\x7f\\x08");
}

// Every place at which a packet may end.
TEST(PrintableStream, ACutCharacterIsTheSameCharacter) {
  const std::string text =
      "ab \xC3\xBC \xE6\x97\xA5 \xF0\x9F\x98\x80 \xC2\x9B \xE2\x80\xAE \xFF \xE2\x82 \xF0\x9F "
      "\xC3\xC3\xBC \x80\x80 \xED\xA0\x80 \xF5\x80\x80\x80 end";
  const std::string whole = shown({text});
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      const std::string_view view(text);
      EXPECT_EQ(
          shown({view.substr(0, first), view.substr(first, second - first), view.substr(second)}),
          whole)
          << first << " " << second;
    }
  }
}

TEST(PrintableStream, ByteByByteIsTheSame) {
  const std::string text = "\xF0\x9F\x98\x80\xE2\x80\xAE\xF0\x9F\x98\x1b[0m\n";
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i)
    bytes.push_back(std::string_view(text).substr(i, 1));
  EXPECT_EQ(shown(bytes), shown({text}));
}

TEST(PrintableStream, ShowsWhatIsWholeAtOnce) {
  PrintableStream stream;
  EXPECT_EQ(stream.next("prompt> "), "prompt> ");
  EXPECT_EQ(stream.next("\xE6\x97"), "");
  EXPECT_EQ(stream.next("\xA5"), "\xE6\x97\xA5");
  EXPECT_EQ(stream.end(), "");
}

// Who waits for an answer to a prompt must see all of it.
TEST(PrintableStream, WhatCanBecomeNoCharacterIsNotHeldBack) {
  for (const auto start : {"\xF5"sv, "\xFF"sv, "\xC0"sv, "\xC1"sv, "\x80"sv, "\xE0\x80"sv,
                           "\xED\xA0"sv, "\xF0\x80"sv, "\xF4\x90"sv, "\xF4\x90\x80"sv}) {
    PrintableStream stream;
    EXPECT_EQ(stream.next(start), printable(start));
    EXPECT_EQ(stream.end(), "");
  }
}

TEST(PrintableStream, WhatIsNeverFinishedIsShownAtTheEnd) {
  PrintableStream stream;
  EXPECT_EQ(stream.next("x\xF0\x9F\x98"), "x");
  EXPECT_EQ(stream.end(), "\\xf0\\x9f\\x98");
  EXPECT_EQ(stream.end(), "");
}

}  // namespace
}  // namespace sshx
