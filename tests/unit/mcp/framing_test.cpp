#include <gmock/gmock.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <vector>

#include "mcp/framing.h"

namespace sshx::mcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kLimit = 8;
/// Stands for a frame that was too large.
const std::string kTooLarge = "<too large>";

std::string shown(const Frame& frame) { return frame.too_large ? kTooLarge : frame.text; }

void take_all(Framing& framing, std::vector<std::string>& frames) {
  for (auto frame = framing.next(); frame; frame = framing.next()) frames.push_back(shown(*frame));
}

/// The most memory that this process had so far, in KiB.
long largest_memory() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
}

/// What comes of `bytes` when they arrive in pieces of `size`, and the stream then ends.
std::vector<std::string> frames_of(std::string_view bytes, std::size_t size, std::size_t limit) {
  LineFraming framing(limit);
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    framing.receive(bytes.substr(at, size));
    take_all(framing, frames);
  }
  if (const auto frame = framing.last()) frames.push_back(shown(*frame));
  EXPECT_FALSE(framing.last().has_value()) << "what was left is given once";
  return frames;
}

/// The same for every way of cutting, which must make no difference.
std::vector<std::string> frames_of(std::string_view bytes, std::size_t limit = kLimit) {
  const auto whole = frames_of(bytes, bytes.size() + 1, limit);
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    EXPECT_EQ(frames_of(bytes, size, limit), whole) << "in pieces of " << size;
  }
  return whole;
}

TEST(LineFramingTest, ALineIsAMessage) {
  EXPECT_THAT(frames_of("one\ntwo\nthree\n"), ElementsAre("one", "two", "three"));
}

TEST(LineFramingTest, NothingIsNoMessage) { EXPECT_THAT(frames_of(""), IsEmpty()); }

TEST(LineFramingTest, ACarriageReturnAtTheEndOfALineIsDropped) {
  EXPECT_THAT(frames_of("one\r\ntwo\r\n"), ElementsAre("one", "two"));
}

TEST(LineFramingTest, OnlyOneCarriageReturnBelongsToTheEnd) {
  EXPECT_THAT(frames_of("a\r\r\nb\rc\n"), ElementsAre("a\r", "b\rc"));
}

TEST(LineFramingTest, EmptyLinesAreNoMessages) {
  EXPECT_THAT(frames_of("\n\r\n\none\n\n\r\ntwo\n\n"), ElementsAre("one", "two"));
}

TEST(LineFramingTest, TheLastLineNeedsNoEnd) {
  EXPECT_THAT(frames_of("one\ntwo"), ElementsAre("one", "two"));
  EXPECT_THAT(frames_of("one\ntwo\r"), ElementsAre("one", "two"));
  EXPECT_THAT(frames_of("one\n\r"), ElementsAre("one"));
}

TEST(LineFramingTest, ALineMayHaveTheLimitAndNoByteMore) {
  EXPECT_THAT(frames_of("1234567\n"), ElementsAre("1234567"));
  EXPECT_THAT(frames_of("12345678\n"), ElementsAre("12345678"));
  EXPECT_THAT(frames_of("123456789\n"), ElementsAre(kTooLarge));
}

TEST(LineFramingTest, TheLimitHoldsForALineWithoutAnEnd) {
  EXPECT_THAT(frames_of("12345678"), ElementsAre("12345678"));
  EXPECT_THAT(frames_of("123456789"), ElementsAre(kTooLarge));
}

TEST(LineFramingTest, TheMessageAfterALargeOneIsTaken) {
  EXPECT_THAT(frames_of("123456789abcdefghijklmnopqrstuvwxyz\nnext\n"),
              ElementsAre(kTooLarge, "next"));
}

TEST(LineFramingTest, EachLargeLineIsToldOnce) {
  EXPECT_THAT(frames_of("aaaaaaaaaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nc\n"),
              ElementsAre(kTooLarge, kTooLarge, "c"));
}

TEST(LineFramingTest, ALargeLineIsNotKeptInMemory) {
  LineFraming framing(kLimit);
  const auto before = largest_memory();
  const std::string piece(1024UL * 1024, 'x');
  for (int i = 0; i < 512; ++i) {
    framing.receive(piece);
    ASSERT_FALSE(framing.next().has_value());
  }
  EXPECT_LT(largest_memory() - before, 128L * 1024) << "KiB";
  framing.receive("\nnext\n");
  std::vector<std::string> frames;
  take_all(framing, frames);
  EXPECT_THAT(frames, ElementsAre(kTooLarge, "next"));
}

TEST(LineFramingTest, BytesAreNotInterpreted) {
  const std::string bytes("\xff\xfe\0\x80", 4);
  EXPECT_THAT(frames_of(bytes + "\n"), ElementsAre(bytes));
}

TEST(LineFramingTest, ManyEmptyLinesAreTakenInLinearTime) {
  LineFraming framing(1024UL * 1024 * 1024);
  // A quarter of an hour, were the rest moved for each line.
  framing.receive(std::string(4UL * 1024 * 1024, '\n') + "next\n");
  std::vector<std::string> frames;
  take_all(framing, frames);
  EXPECT_THAT(frames, ElementsAre("next"));
}

TEST(LineFramingTest, AMessageIsSentAsOneLine) {
  EXPECT_EQ(LineFraming(kLimit).framed(R"({"a":1})"), "{\"a\":1}\n");
}

}  // namespace
}  // namespace sshx::mcp
