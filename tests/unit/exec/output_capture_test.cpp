#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/sha256.h"
#include "core/utf8.h"
#include "exec/output_capture.h"

namespace sshx::exec {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

std::size_t json_size(const std::string& text) { return dump_json(Json(text)).size() - 2; }

std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// The bytes that a document's text stands for.
std::string decoded(const StreamCapture::Text& text) {
  if (text.encoding == "utf-8") return text.text;
  EXPECT_EQ(text.encoding, "base64");
  auto bytes = from_base64(text.text);
  EXPECT_TRUE(bytes.has_value());
  return bytes.has_value() ? *bytes : std::string();
}

/// Every rule that holds for any input and limit; `all` is what a capture without limit would keep.
void expect_sound(const StreamCapture& capture, const std::string& all, std::size_t limit) {
  const StreamCapture::Text text = capture.text();
  const std::string kept = decoded(text);
  const bool whole_is_text = is_utf8(all);
  const std::size_t whole_size = whole_is_text ? json_size(all) : base64_size(all.size());
  EXPECT_EQ(capture.total(), all.size());
  EXPECT_LE(json_size(text.text), limit);
  EXPECT_EQ(kept.size() + text.omitted, all.size());
  if (whole_is_text) {
    EXPECT_EQ(text.encoding, "utf-8");
  }
  if (whole_size <= limit) {
    EXPECT_TRUE(kept == all);
    EXPECT_EQ(text.encoding, whole_is_text ? "utf-8" : "base64");
    EXPECT_EQ(text.omitted_at, std::nullopt);
    return;
  }
  EXPECT_GT(text.omitted, 0U);
  ASSERT_TRUE(text.omitted_at.has_value());
  ASSERT_LE(*text.omitted_at, kept.size());
  const std::string head = kept.substr(0, *text.omitted_at);
  const std::string tail = kept.substr(*text.omitted_at);
  EXPECT_TRUE(all.starts_with(head));
  EXPECT_TRUE(all.ends_with(tail));
  if (text.encoding == "utf-8") {
    EXPECT_TRUE(is_utf8(head));
    EXPECT_TRUE(is_utf8(tail));
  }
}

StreamCapture capture_of(std::string_view bytes, std::size_t limit, std::size_t step = 4096) {
  StreamCapture capture(limit);
  for (std::size_t at = 0; at < bytes.size(); at += step) capture.append(bytes.substr(at, step));
  return capture;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(StreamCaptureTest, NothingIsAnEmptyText) {
  const StreamCapture capture(100);
  const auto text = capture.text();
  EXPECT_EQ(text.text, "");
  EXPECT_EQ(text.encoding, "utf-8");
  EXPECT_EQ(text.omitted, 0U);
  EXPECT_EQ(text.omitted_at, std::nullopt);
  EXPECT_EQ(capture.total(), 0U);
}

TEST(StreamCaptureTest, BelowTheLimitEveryByteIsKept) {
  const std::string all = "one\ntwo\tthree \"four\" \\ \x01\x1b[0m \xc3\xa9\n";
  for (std::size_t step = 1; step < all.size(); ++step) {
    const auto capture = capture_of(all, 1000, step);
    expect_sound(capture, all, 1000);
    EXPECT_EQ(capture.text().text, all);
  }
}

// B013, B142: the limit is what stands in the document.
TEST(StreamCaptureTest, TheLimitCountsTheFormInTheDocument) {
  struct Case {
    std::string unit;
    std::size_t size;
  };

  for (const Case& one :
       {Case{"a", 1}, Case{"\"", 2}, Case{"\\", 2}, Case{"\n", 2}, Case{"\t", 2}, Case{"\r", 2},
        Case{"\b", 2}, Case{"\f", 2}, Case{"\x01", 6}, Case{"\x1b", 6}, Case{"\x1f", 6},
        Case{"\x7f", 1}, Case{"/", 1}, Case{std::string(1, '\0'), 6}, Case{"\xc3\xa9", 2},
        Case{"\xe2\x82\xac", 3}, Case{"\xf0\x9f\x98\x80", 4}}) {
    const std::string all = repeated(one.unit, 50);
    const std::size_t exact = 50 * one.size;
    ASSERT_EQ(json_size(all), exact);
    EXPECT_EQ(capture_of(all, exact).text().omitted, 0U) << one.size;
    expect_sound(capture_of(all, exact), all, exact);
    EXPECT_GT(capture_of(all, exact - 1).text().omitted, 0U) << one.size;
    expect_sound(capture_of(all, exact - 1), all, exact - 1);
  }
}

TEST(StreamCaptureTest, TheLimitCountsBase64) {
  const std::string all(300, '\xff');
  EXPECT_EQ(capture_of(all, 400).text().omitted, 0U);
  expect_sound(capture_of(all, 400), all, 400);
  EXPECT_GT(capture_of(all, 399).text().omitted, 0U);
  expect_sound(capture_of(all, 399), all, 399);
}

TEST(StreamCaptureTest, HeadAndTailAreKeptAndTheLimitIsUsed) {
  std::string all;
  for (int i = 0; i < 10000; ++i) all += "line " + std::to_string(i) + "|";
  const auto capture = capture_of(all, 1000);
  expect_sound(capture, all, 1000);
  const auto text = capture.text();
  EXPECT_TRUE(text.text.starts_with("line 0|line 1|"));
  EXPECT_TRUE(text.text.ends_with("line 9998|line 9999|"));
  EXPECT_GE(text.text.size(), 990U);
}

// B009
TEST(StreamCaptureTest, BytesThatAreNotUtf8ComeAsBase64) {
  for (const std::string& all :
       {std::string("\xff"), std::string("abc\xc3"), std::string("\xed\xa0\x80"),
        std::string("\xc0\x80"), std::string("\x80"), std::string("ok \xf0\x9f\x98")}) {
    const auto text = capture_of(all, 1000, 1).text();
    EXPECT_EQ(text.encoding, "base64");
    EXPECT_EQ(text.text, to_base64(all));
    EXPECT_EQ(decoded(text), all);
  }
}

TEST(StreamCaptureTest, ACharacterSplitOverAppendsIsWhole) {
  const std::string all = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  for (std::size_t at = 0; at <= all.size(); ++at) {
    StreamCapture capture(100);
    capture.append(std::string_view(all).substr(0, at));
    capture.append(std::string_view(all).substr(at));
    EXPECT_EQ(capture.text().text, all) << at;
    EXPECT_EQ(capture.text().encoding, "utf-8") << at;
  }
}

TEST(StreamCaptureTest, ACutNeverFallsInsideACharacter) {
  const std::string all = repeated("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 500);
  for (std::size_t limit = 0; limit < 120; ++limit)
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
      const auto capture = capture_of(all, limit, step);
      expect_sound(capture, all, limit);
    }
}

TEST(StreamCaptureTest, NothingIsKeptWithoutALimit) {
  const auto capture = capture_of("some output", 0);
  const auto text = capture.text();
  EXPECT_EQ(text.text, "");
  EXPECT_EQ(text.omitted, 11U);
  EXPECT_EQ(text.omitted_at, 0U);
  EXPECT_EQ(capture.total(), 11U);
  EXPECT_EQ(StreamCapture(0).text().omitted_at, std::nullopt);
}

TEST(StreamCaptureTest, ATinyLimitIsKept) {
  for (std::size_t limit = 0; limit < 16; ++limit)
    for (const std::string& unit : {std::string("x"), std::string("\x01"), std::string("\xff"),
                                    std::string("\xf0\x9f\x98\x80"), std::string("\"")}) {
      const std::string all = repeated(unit, 30);
      expect_sound(capture_of(all, limit), all, limit);
    }
}

TEST(StreamCaptureTest, WhatCameLateCanMakeItBinary) {
  const std::string all = std::string(5000, 'a') + "\xff" + std::string(10, 'b');
  const auto capture = capture_of(all, 1000);
  expect_sound(capture, all, 1000);
  EXPECT_TRUE(decoded(capture.text()).ends_with("\xff" + std::string(10, 'b')));
}

TEST(StreamCaptureTest, AWholeThatFitsOnlyAsTextIsNotKeptAsBinary) {
  const std::string all = std::string(900, 'a') + "\xff";
  const auto capture = capture_of(all, 1000);
  expect_sound(capture, all, 1000);
  EXPECT_GT(capture.text().omitted, 0U);
}

TEST(StreamCaptureTest, TextMayBeAskedForAtAnyTime) {
  StreamCapture capture(50);
  std::string all;
  for (int i = 0; i < 100; ++i) {
    capture.append("0123456789");
    all += "0123456789";
    expect_sound(capture, all, 50);
  }
}

// B011, B013: endless output costs no more than the limit.
TEST(StreamCaptureTest, AHundredMebibytesLeaveHeadAndTail) {
  constexpr std::size_t kLimit = 10000;
  StreamCapture capture(kLimit);
  const std::string block(kMebibyte, 'm');
  capture.append("first");
  for (int i = 0; i < 100; ++i) capture.append(block);
  capture.append("last");
  const auto text = capture.text();
  EXPECT_EQ(capture.total(), 100 * kMebibyte + 9);
  EXPECT_TRUE(text.text.starts_with("firstmmm"));
  EXPECT_TRUE(text.text.ends_with("mmmlast"));
  EXPECT_LE(text.text.size(), kLimit);
  EXPECT_EQ(text.omitted + text.text.size(), capture.total());
}

TEST(StreamCaptureTest, SingleBytesLeaveHeadAndTailToo) {
  constexpr std::size_t kLimit = 10000;
  constexpr std::size_t kBytes = 2 * kMebibyte;
  StreamCapture capture(kLimit);
  const std::string_view digits = "0123456789";
  for (std::size_t i = 0; i < kBytes; ++i) capture.append(digits.substr(i % 10, 1));
  const auto text = capture.text();
  EXPECT_EQ(capture.total(), kBytes);
  EXPECT_TRUE(text.text.starts_with("01234567890123"));
  EXPECT_EQ(text.text.back(), digits[(kBytes - 1) % 10]);
  EXPECT_LE(text.text.size(), kLimit);
  EXPECT_EQ(text.omitted + text.text.size(), kBytes);
}

class CapturePropertyTest : public testing::TestWithParam<std::uint32_t> {};

/// Numbers that are the same for the same seed.
class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_(seed) {}

  std::size_t below(std::size_t end) { return generator_() % end; }

 private:
  std::mt19937 generator_;
};

/// Output of one flavour: plain text, text with escapes, text of several planes, bytes, or any of
/// them in turn.
std::string random_output(Random& random, std::size_t flavour) {
  static const std::vector<std::string> kUnits{
      "a",    "z",    "\"",  "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
      "\xff", "\x80", "\xc3"};
  static constexpr std::array<std::size_t, 4> kTo{2, 5, 8, 11};
  std::string output;
  const std::size_t count = random.below(40);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t units = kTo[flavour < 4 ? flavour : random.below(4)];
    output += kUnits[random.below(units)];
  }
  return output;
}

TEST_P(CapturePropertyTest, AgreesWithKeepingEverything) {
  Random random(GetParam());
  for (int round = 0; round < 400; ++round) {
    const std::size_t flavour = random.below(5);
    const std::size_t limit = random.below(400);
    StreamCapture capture(limit);
    std::string all;
    const std::size_t appends = random.below(30);
    for (std::size_t i = 0; i < appends; ++i) {
      const std::string piece = random_output(random, flavour);
      capture.append(piece);
      all += piece;
    }
    expect_sound(capture, all, limit);
    if (HasFailure()) {
      FAIL() << "seed " << GetParam() << " round " << round << " flavour " << flavour << " limit "
             << limit << " bytes " << to_base64(all);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CapturePropertyTest, testing::Range(1U, 11U));

// B008
TEST(OutputCaptureTest, KeepsTheStreamsApart) {
  OutputCapture capture(100);
  capture.receive(ssh::OutputStream::standard_output, "out ");
  capture.receive(ssh::OutputStream::standard_error, "err ");
  capture.receive(ssh::OutputStream::standard_output, "more");
  EXPECT_EQ(capture.stream(ssh::OutputStream::standard_output).text().text, "out more");
  EXPECT_EQ(capture.stream(ssh::OutputStream::standard_error).text().text, "err ");
  EXPECT_TRUE(capture.ready());
  EXPECT_FALSE(capture.failure().has_value());
}

TEST(OutputCaptureTest, TheLimitIsEachStreamsOwn) {
  OutputCapture capture(100);
  capture.receive(ssh::OutputStream::standard_output, std::string(100, 'o'));
  capture.receive(ssh::OutputStream::standard_error, std::string(100, 'e'));
  EXPECT_EQ(capture.stream(ssh::OutputStream::standard_output).text().omitted, 0U);
  EXPECT_EQ(capture.stream(ssh::OutputStream::standard_error).text().omitted, 0U);
  EXPECT_TRUE(capture.ready());
}

}  // namespace
}  // namespace sshx::exec
