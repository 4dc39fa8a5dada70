#include <gmock/gmock.h>

#include <deque>
#include <random>
#include <thread>

#include "core/text.h"
#include "exec/prefixed_output.h"
#include "unit/loop/scratch.h"

namespace sshx::exec {
namespace {

using ssh::OutputStream;
using test::FullPipe;
using test::kGuardSeconds;
using test::Loop;
using test::make_pipe;
using test::Pipe;

constexpr auto kOut = OutputStream::standard_output;
constexpr auto kErr = OutputStream::standard_error;
constexpr std::size_t kKibibyte = 1024;
constexpr std::size_t kLongest = 64 * kKibibyte;

class PrefixedOutputTest : public test::SignalledTest {
 protected:
  [[nodiscard]] InheritedOutput to(const UniqueFd& out, const UniqueFd& error) const {
    return InheritedOutput({{out.get(), "stdout"}, {error.get(), "stderr"}}, changed());
  }
};

/// What was written to both streams.
struct Written {
  std::string out;
  std::string error;
};

/// Collects both streams, however much is written.
class Collected {
 public:
  explicit Collected(std::shared_ptr<ThreadSignal> changed)
      : out_(make_pipe()), error_(make_pipe()),
        output_(std::in_place,
                std::vector<InheritedOutput::Sink>{{out_.write_end.get(), "stdout"},
                                                   {error_.write_end.get(), "stderr"}},
                std::move(changed)),
        out_reader_([this] { written_.out = test::read_to_end(out_.read_end.get()); }),
        error_reader_([this] { written_.error = test::read_to_end(error_.read_end.get()); }) {}

  [[nodiscard]] InheritedOutput& output() { return *output_; }

  /// Once everything was given.
  Written end() {
    Loop loop;
    loop.run(output_->drain(loop.runtime(), after(kGuardSeconds)));
    output_.reset();
    out_.write_end = UniqueFd();
    error_.write_end = UniqueFd();
    out_reader_.join();
    error_reader_.join();
    return written_;
  }

 private:
  Pipe out_;
  Pipe error_;
  std::optional<InheritedOutput> output_;
  Written written_;
  std::thread out_reader_;
  std::thread error_reader_;
};

/// What a target "web-1" writes for these pieces of its stdout.
std::string shown(const std::vector<std::string>& pieces, ControlBytes bytes = ControlBytes::kept) {
  Collected collected(ThreadSignal::make().value());
  PrefixedOutput target("web-1", collected.output(), bytes);
  for (const auto& piece : pieces) target.receive(kOut, piece);
  target.finish();
  auto written = collected.end();
  EXPECT_EQ(written.error, "");
  return std::move(written.out);
}

// B196
TEST_F(PrefixedOutputTest, EachLineSaysWhoSaidItOnItsOwnStream) {
  Collected collected(changed());
  PrefixedOutput web("web-1", collected.output(), ControlBytes::kept);
  PrefixedOutput db("db-1", collected.output(), ControlBytes::kept);
  web.receive(kOut, "one\ntwo\n");
  db.receive(kErr, "no disk\n");
  web.receive(kErr, "warning\n");
  db.receive(kOut, "three\n");
  const auto written = collected.end();
  EXPECT_EQ(written.out, "web-1: one\nweb-1: two\ndb-1: three\n");
  EXPECT_EQ(written.error, "db-1: no disk\nweb-1: warning\n");
}

TEST_F(PrefixedOutputTest, ALineIsWrittenOnceItIsWhole) {
  Collected collected(changed());
  PrefixedOutput web("web-1", collected.output(), ControlBytes::kept);
  PrefixedOutput db("db-1", collected.output(), ControlBytes::kept);
  web.receive(kOut, "half");
  web.receive(kErr, "other ");
  db.receive(kOut, "whole\n");
  web.receive(kOut, " and half\nnext");
  web.receive(kErr, "stream\n");
  web.finish();
  const auto written = collected.end();
  EXPECT_EQ(written.out, "db-1: whole\nweb-1: half and half\nweb-1: next\n");
  EXPECT_EQ(written.error, "web-1: other stream\n");
}

TEST_F(PrefixedOutputTest, TheEndAddsAnEndOfLineOnlyWhereNoneCame) {
  EXPECT_EQ(shown({"no end"}), "web-1: no end\n");
  EXPECT_EQ(shown({"an end\n"}), "web-1: an end\n");
  EXPECT_EQ(shown({"\n", "\n"}), "web-1: \nweb-1: \n");
  EXPECT_EQ(shown({}), "");
}

TEST_F(PrefixedOutputTest, FinishingTwiceWritesNothingTwice) {
  Collected collected(changed());
  PrefixedOutput web("web-1", collected.output(), ControlBytes::kept);
  web.receive(kOut, "rest");
  web.receive(kErr, "rest of stderr");
  web.finish();
  web.finish();
  const auto written = collected.end();
  EXPECT_EQ(written.out, "web-1: rest\n");
  EXPECT_EQ(written.error, "web-1: rest of stderr\n");
}

TEST_F(PrefixedOutputTest, CarriageReturnsStayAsTheyCome) {
  EXPECT_EQ(shown({"a\r\nb\r", "\nc\r\n"}), "web-1: a\r\nweb-1: b\r\nweb-1: c\r\n");
  EXPECT_EQ(shown({"10 %\r", "20 %\r", "done\n"}), "web-1: 10 %\r20 %\rdone\n");
  EXPECT_EQ(shown({"\r"}), "web-1: \r\n");
}

TEST_F(PrefixedOutputTest, BytesThatAreNoTextStayAsTheyCome) {
  const std::string bytes("\x00\xff\x1b[2J\x80", 7);
  EXPECT_EQ(shown({bytes}), "web-1: " + bytes + "\n");
}

TEST_F(PrefixedOutputTest, ALineIsBrokenWhereItGetsTooLong) {
  const std::string full(kLongest, 'x');
  EXPECT_EQ(shown({full}), "web-1: " + full + "\n");
  EXPECT_EQ(shown({full, "\n"}), "web-1: " + full + "\n");
  EXPECT_EQ(shown({full, "y\nz\n"}), "web-1: " + full + "\nweb-1: y\nweb-1: z\n");
  EXPECT_EQ(shown({full + full + "y\n"}), "web-1: " + full + "\nweb-1: " + full + "\nweb-1: y\n");
}

TEST_F(PrefixedOutputTest, ABrokenLineCutsNoCharacter) {
  const std::string text = std::string(kLongest - 2, 'x') + "\xE6\x97\xA5.";
  EXPECT_EQ(shown({text}), "web-1: " + std::string(kLongest - 2, 'x') + "\nweb-1: \xE6\x97\xA5.\n");
  const std::string no_text(kLongest + 1, '\x80');
  EXPECT_EQ(shown({no_text}), "web-1: " + std::string(kLongest, '\x80') + "\nweb-1: \x80\n");
}

// B149
TEST_F(PrefixedOutputTest, ControlBytesAreVisibleWhereThatIsWanted) {
  EXPECT_EQ(shown({"a\x1b[2J\tb\r\n", "\xE6\x97"}, ControlBytes::visible),
            "web-1: a\\x1b[2J\tb\\x0d\nweb-1: \\xe6\\x97\n");
  EXPECT_EQ(shown({"\xE6\x97", "\xA5\n"}, ControlBytes::visible), "web-1: \xE6\x97\xA5\n");
}

TEST_F(PrefixedOutputTest, WhatTheCommandPrintedIsCountedExactly) {
  for (const auto bytes : {ControlBytes::kept, ControlBytes::visible}) {
    Collected collected(changed());
    PrefixedOutput web("web-1", collected.output(), bytes);
    web.receive(kOut, std::string(kLongest + 5, '\x1b'));
    web.receive(kOut, "\n\n");
    web.receive(kErr, "\xE6");
    web.finish();
    EXPECT_EQ(web.total(kOut), kLongest + 7);
    EXPECT_EQ(web.total(kErr), 1U);
    (void)collected.end();
  }
}

/// Cuts `text` into pieces of random size.
std::deque<std::string> cut(const std::string& text, std::mt19937& generator) {
  std::deque<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += pieces.back().size()) {
    pieces.push_back(text.substr(at, 1 + generator() % 50));
  }
  return pieces;
}

/// Numbered lines of many lengths, the last one without an end.
std::string numbered_lines(std::mt19937& generator) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += std::to_string(i) + std::string(generator() % 200, '.') + "\n";
  }
  return text + "last";
}

/// The lines of `name` in what all wrote, without its prefix.
std::string lines_of(const std::string& name, const std::string& written) {
  std::string own;
  for (const auto& line : split(written, '\n')) {
    if (line.starts_with(name + ": ")) own += line.substr(name.size() + 2) + "\n";
  }
  return own;
}

TEST_F(PrefixedOutputTest, LinesOfManyTargetsNeverMix) {
  constexpr std::size_t kTargets = 20;
  Collected collected(changed());
  std::mt19937 generator(11);
  std::deque<PrefixedOutput> targets;
  std::vector<std::string> texts;
  std::vector<std::deque<std::string>> pieces;
  for (std::size_t i = 0; i < kTargets; ++i) {
    targets.emplace_back("t" + std::to_string(i), collected.output(), ControlBytes::kept);
    texts.push_back(numbered_lines(generator));
    pieces.push_back(cut(texts.back(), generator));
  }
  for (std::size_t left = kTargets; left > 0;) {
    const auto i = generator() % kTargets;
    if (pieces[i].empty()) continue;
    targets[i].receive(kOut, pieces[i].front());
    pieces[i].pop_front();
    if (pieces[i].empty()) {
      targets[i].finish();
      --left;
    }
  }
  const auto written = collected.end();
  std::size_t all = 0;
  for (std::size_t i = 0; i < kTargets; ++i) {
    const auto name = "t" + std::to_string(i);
    const auto own = lines_of(name, written.out);
    EXPECT_EQ(own, texts[i] + "\n") << name;
    all += own.size() + 301 * (name.size() + 2);
  }
  EXPECT_EQ(written.out.size(), all);
}

/// Gives whole lines until no more is taken; how much that was, prefixes included.
std::size_t flood(PrefixedOutput& target, std::size_t name_size) {
  const std::string line = std::string(kKibibyte - name_size - 3, 'f') + "\n";
  std::size_t given = 0;
  // A receiver that is always ready ends here.
  while (target.ready() && given < 8 * kKibibyte * kKibibyte) {
    target.receive(kOut, line);
    given += kKibibyte;
  }
  return given;
}

// B113, B191
TEST_F(PrefixedOutputTest, ATargetThatFloodsLeavesRoomForOthers) {
  const FullPipe out;
  auto output = to(out.ends.write_end, out.ends.write_end);
  PrefixedOutput web("web-1", output, ControlBytes::kept);
  const PrefixedOutput quiet("quiet", output, ControlBytes::kept);
  EXPECT_EQ(flood(web, 5), 256 * kKibibyte);
  EXPECT_FALSE(web.ready());
  EXPECT_TRUE(quiet.ready());
  EXPECT_EQ(output.waiting(), 256 * kKibibyte);
}

TEST_F(PrefixedOutputTest, ManyThatFloodLeaveRoomForOthersToo) {
  const FullPipe out;
  auto output = to(out.ends.write_end, out.ends.write_end);
  std::deque<PrefixedOutput> floods;
  std::vector<std::size_t> given;
  for (int i = 0; i < 10; ++i) {
    floods.emplace_back("web-" + std::to_string(i), output, ControlBytes::kept);
    given.push_back(flood(floods.back(), 5));
  }
  const PrefixedOutput quiet("quiet", output, ControlBytes::kept);
  EXPECT_TRUE(quiet.ready());
  EXPECT_LT(output.waiting(), kKibibyte * kKibibyte);
  EXPECT_THAT(given, testing::Each(testing::Gt(0U)));
}

TEST_F(PrefixedOutputTest, AMegabyteThatWaitsHoldsEachOneBackUntilItIsRead) {
  FullPipe out;
  std::string arrived;
  std::thread reader;
  {
    auto output = to(out.ends.write_end, out.ends.write_end);
    PrefixedOutput web("web-1", output, ControlBytes::kept);
    PrefixedOutput quiet("quiet", output, ControlBytes::kept);
    // What was received before ready() was asked again is taken, however much.
    web.receive(kOut, std::string(kKibibyte * kKibibyte, 'f') + "\n");
    EXPECT_FALSE(web.ready());
    EXPECT_FALSE(quiet.ready());
    quiet.receive(kErr, "last words\n");
    reader = std::thread([&] { arrived = test::read_to_end(out.ends.read_end.get()); });
    EXPECT_TRUE(wait_until([&] { return output.waiting() == 0; }));
    EXPECT_TRUE(web.ready());
    EXPECT_TRUE(quiet.ready());
  }
  out.ends.write_end = UniqueFd();
  reader.join();
  EXPECT_THAT(arrived, testing::EndsWith("f\nquiet: last words\n"));
}

TEST_F(PrefixedOutputTest, AReaderThatWentAwayIsAFailureOfEachTarget) {
  Pipe out = make_pipe();
  out.read_end = UniqueFd();
  auto output = to(out.write_end, out.write_end);
  PrefixedOutput web("web-1", output, ControlBytes::kept);
  const PrefixedOutput db("db-1", output, ControlBytes::kept);
  web.receive(kOut, "into the void\n");
  ASSERT_TRUE(wait_until([&] { return web.failure().has_value(); }));
  EXPECT_EQ(web.failure()->code, "broken_pipe");
  ASSERT_TRUE(db.failure().has_value());
  EXPECT_EQ(db.failure()->code, "broken_pipe");
}

}  // namespace
}  // namespace sshx::exec
