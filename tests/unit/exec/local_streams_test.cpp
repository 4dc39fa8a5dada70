#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "exec/local_streams.h"
#include "unit/loop/scratch.h"

namespace sshx::exec {
namespace {

using ssh::OutputStream;
using test::FullPipe;
using test::kGuardSeconds;
using test::kShortSeconds;
using test::Loop;
using test::make_pipe;
using test::outcome_of;
using test::Pipe;

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kBlock = 65536;

class LocalStreamsTest : public test::SignalledTest {
 protected:
  void drain(StreamedOutput& output, double seconds = kGuardSeconds) {
    loop_.run(output.drain(loop_.runtime(), after(seconds)));
  }

  [[nodiscard]] Loop& loop() { return loop_; }

 private:
  Loop loop_;
};

std::string error_of(const std::optional<Error>& error) {
  return error ? std::string(to_string(error->kind)) + "/" + error->code : "ok";
}

class StreamedOutputTest : public LocalStreamsTest {
 protected:
  /// Gives until no more is taken. Gives back how much that was.
  static std::size_t fill(StreamedOutput& output) {
    std::size_t given = 0;
    // A receiver that is always ready ends here.
    while (output.ready() && given < 64 * kMebibyte) {
      output.receive(OutputStream::standard_output, std::string(kBlock, 'f'));
      given += kBlock;
    }
    return given;
  }
};

// B008
TEST_F(StreamedOutputTest, EachStreamGoesToItsDescriptor) {
  Pipe out = make_pipe();
  Pipe error = make_pipe();
  {
    StreamedOutput output(out.write_end.get(), error.write_end.get(), changed());
    output.receive(OutputStream::standard_output, "to stdout");
    output.receive(OutputStream::standard_error, "to stderr");
    EXPECT_EQ(output.total(OutputStream::standard_output), 9U);
    EXPECT_EQ(output.total(OutputStream::standard_error), 9U);
    drain(output);
    EXPECT_EQ(error_of(output.failure()), "ok");
  }
  out.write_end = UniqueFd();
  error.write_end = UniqueFd();
  EXPECT_EQ(test::read_to_end(out.read_end.get()), "to stdout");
  EXPECT_EQ(test::read_to_end(error.read_end.get()), "to stderr");
}

TEST_F(StreamedOutputTest, TheOrderAcrossBothIsKept) {
  Pipe both = make_pipe();
  std::string expected;
  {
    StreamedOutput output(both.write_end.get(), both.write_end.get(), changed());
    for (int i = 0; i < 2000; ++i) {
      const std::string piece = std::to_string(i) + ",";
      output.receive(i % 3 == 0 ? OutputStream::standard_error : OutputStream::standard_output,
                     piece);
      expected += piece;
    }
    drain(output);
  }
  both.write_end = UniqueFd();
  EXPECT_EQ(test::read_to_end(both.read_end.get()), expected);
}

TEST_F(StreamedOutputTest, IsReadyAtFirstAndAfterADrain) {
  Pipe out = make_pipe();
  StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
  EXPECT_TRUE(output.ready());
  output.receive(OutputStream::standard_output, "some");
  drain(output);
  EXPECT_TRUE(output.ready());
  EXPECT_FALSE(output.failure().has_value());
}

TEST_F(StreamedOutputTest, OutputComesWhileTheCommandRuns) {
  Pipe out = make_pipe();
  StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
  output.receive(OutputStream::standard_output, "first line\n");
  ASSERT_TRUE(test::wait_readable(out.read_end.get()));
  std::array<char, 64> buffer{};
  const ssize_t count = read(out.read_end.get(), buffer.data(), buffer.size());
  EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(count)), "first line\n");
}

// B199: a reader that pauses holds the server back and later lets it go on.
TEST_F(StreamedOutputTest, AnUnreadPipeHoldsBackAMegabyte) {
  FullPipe out;
  StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
  const std::size_t given = fill(output);
  EXPECT_EQ(given, kMebibyte);
  EXPECT_FALSE(output.ready());

  const std::size_t expected = out.held + given;
  std::size_t arrived = 0;
  std::thread reader([&] {
    std::array<char, kBlock> buffer{};
    while (arrived < expected) {
      const ssize_t count = read(out.ends.read_end.get(), buffer.data(), buffer.size());
      if (count <= 0) return;
      arrived += static_cast<std::size_t>(count);
    }
  });
  EXPECT_TRUE(wait_until([&] { return output.ready(); }));
  reader.join();
  EXPECT_EQ(arrived, expected);
  EXPECT_EQ(output.total(OutputStream::standard_output), given);
  EXPECT_EQ(output.total(OutputStream::standard_error), 0U);
}

TEST_F(StreamedOutputTest, NoByteIsLostUnderBackPressure) {
  Pipe out = make_pipe();
  std::string arrived;
  std::thread reader([&] { arrived = test::read_to_end(out.read_end.get()); });
  std::string sent;
  std::mt19937 generator(3);
  {
    StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
    while (sent.size() < 4 * kMebibyte) {
      ASSERT_TRUE(wait_until([&] { return output.ready(); }));
      std::string piece(generator() % 100000, '\0');
      for (char& byte : piece) byte = static_cast<char>(generator() & 0xffU);
      output.receive(OutputStream::standard_output, piece);
      sent += piece;
    }
    drain(output);
    EXPECT_EQ(output.total(OutputStream::standard_output), sent.size());
  }
  out.write_end = UniqueFd();
  reader.join();
  EXPECT_TRUE(arrived == sent);
}

TEST_F(StreamedOutputTest, AClosedPipeIsAFailure) {
  Pipe out = make_pipe();
  out.read_end = UniqueFd();
  StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
  output.receive(OutputStream::standard_output, "into the void");
  EXPECT_TRUE(wait_until([&] { return output.failure().has_value(); }));
  EXPECT_EQ(error_of(output.failure()), "local_io/broken_pipe");
  // What comes afterwards is counted and forgotten.
  output.receive(OutputStream::standard_output, "more");
  drain(output);
  EXPECT_EQ(output.total(OutputStream::standard_output), 17U);
}

TEST_F(StreamedOutputTest, APipeThatClosesUnderAWaitingWriteIsAFailure) {
  FullPipe out;
  StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
  (void)fill(output);
  ASSERT_FALSE(output.ready());
  out.ends.read_end = UniqueFd();
  EXPECT_TRUE(wait_until([&] { return output.failure().has_value(); }));
  EXPECT_EQ(error_of(output.failure()), "local_io/broken_pipe");
}

TEST_F(StreamedOutputTest, AFullDiskIsAFailure) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  StreamedOutput output(full.get(), full.get(), changed());
  output.receive(OutputStream::standard_output, "text");
  EXPECT_TRUE(wait_until([&] { return output.failure().has_value(); }));
  EXPECT_EQ(error_of(output.failure()), "local_io/no_space");
}

TEST_F(StreamedOutputTest, ADescriptorThatCannotBeWrittenIsAFailure) {
  const UniqueFd reading(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  StreamedOutput output(reading.get(), reading.get(), changed());
  output.receive(OutputStream::standard_error, "text");
  EXPECT_TRUE(wait_until([&] { return output.failure().has_value(); }));
  EXPECT_EQ(error_of(output.failure()), "local_io/io");
}

TEST_F(StreamedOutputTest, ANonBlockingPipeIsWaitedFor) {
  // Somebody else's choice: the descriptor is shared.
  Pipe out = make_pipe();
  ASSERT_EQ(fcntl(out.write_end.get(), F_SETFL, O_NONBLOCK), 0);
  std::string arrived;
  std::thread reader([&] { arrived = test::read_to_end(out.read_end.get()); });
  const std::string sent(4 * kMebibyte, 'n');
  {
    StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
    output.receive(OutputStream::standard_output, sent);
    drain(output);
    EXPECT_EQ(error_of(output.failure()), "ok");
  }
  out.write_end = UniqueFd();
  reader.join();
  EXPECT_TRUE(arrived == sent);
}

TEST_F(StreamedOutputTest, ADrainEndsAtItsDeadline) {
  FullPipe out;
  StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
  (void)fill(output);
  drain(output, kShortSeconds);
  EXPECT_FALSE(output.ready());
}

TEST_F(StreamedOutputTest, ADrainEndsWithACancellation) {
  FullPipe out;
  StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
  (void)fill(output);
  asio::post(loop().context(), [this] { loop().cancellation().request("SIGINT"); });
  drain(output, kGuardSeconds);
  EXPECT_TRUE(loop().cancellation().requested());
  EXPECT_FALSE(output.ready());
}

TEST_F(StreamedOutputTest, ADrainEndsWithAFailure) {
  FullPipe out;
  StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
  (void)fill(output);
  asio::post(loop().context(), [&out] { out.ends.read_end = UniqueFd(); });
  drain(output, kGuardSeconds);
  EXPECT_EQ(error_of(output.failure()), "local_io/broken_pipe");
}

TEST_F(StreamedOutputTest, ADrainOfNothingEndsAtOnce) {
  Pipe out = make_pipe();
  StreamedOutput output(out.write_end.get(), out.write_end.get(), changed());
  drain(output);
  EXPECT_TRUE(output.ready());
}

TEST_F(StreamedOutputTest, MayBeDestroyedWhileAWriteWaits) {
  FullPipe out;
  {
    StreamedOutput output(out.ends.write_end.get(), out.ends.write_end.get(), changed());
    (void)fill(output);
  }
  // The thread that was left behind ends with the pipe.
  out.ends.read_end = UniqueFd();
}

class StreamedInputTest : public LocalStreamsTest {
 protected:
  /// Everything until the end or a failure.
  std::string take_all(StreamedInput& input, std::size_t limit = kBlock) const {
    std::string all;
    const bool finished = wait_until([&] {
      for (;;) {
        const std::string piece = input.next(limit);
        EXPECT_LE(piece.size(), limit);
        if (piece.empty()) break;
        all += piece;
      }
      return input.ended() || input.failure().has_value();
    });
    EXPECT_TRUE(finished);
    return all;
  }
};

TEST_F(StreamedInputTest, GivesBytesAsTheyCome) {
  Pipe in = make_pipe();
  StreamedInput input(in.read_end.get(), changed());
  EXPECT_EQ(input.next(100), "");
  EXPECT_FALSE(input.ended());
  for (const std::string piece : {"first", "second", "third"}) {
    ASSERT_TRUE(write_all(in.write_end.get(), piece, "pipe").has_value());
    std::string got;
    EXPECT_TRUE(wait_until([&] {
      got += input.next(100);
      return got.size() >= piece.size();
    }));
    EXPECT_EQ(got, piece);
    EXPECT_FALSE(input.ended());
  }
}

// B041
TEST_F(StreamedInputTest, TheEndComesAfterTheLastByte) {
  Pipe in = make_pipe();
  ASSERT_TRUE(write_all(in.write_end.get(), "0123456789", "pipe").has_value());
  in.write_end = UniqueFd();
  StreamedInput input(in.read_end.get(), changed());
  std::string got;
  EXPECT_TRUE(wait_until([&] {
    got += input.next(3);
    return got.size() >= 3;
  }));
  EXPECT_FALSE(input.ended());
  EXPECT_EQ(got + take_all(input, 3), "0123456789");
  EXPECT_TRUE(input.ended());
  EXPECT_EQ(input.next(100), "");
  EXPECT_FALSE(input.failure().has_value());
}

TEST_F(StreamedInputTest, AnEmptyStreamEnds) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  StreamedInput input(null.get(), changed());
  EXPECT_EQ(take_all(input), "");
  EXPECT_TRUE(input.ended());
}

TEST_F(StreamedInputTest, NoByteIsLostInALongStream) {
  Pipe in = make_pipe();
  std::string sent(4 * kMebibyte, '\0');
  std::mt19937 generator(5);
  for (char& byte : sent) byte = static_cast<char>(generator() & 0xffU);
  std::thread writer([&] {
    EXPECT_TRUE(write_all(in.write_end.get(), sent, "pipe").has_value());
    in.write_end = UniqueFd();
  });
  StreamedInput input(in.read_end.get(), changed());
  EXPECT_TRUE(take_all(input, 10000) == sent);
  writer.join();
  EXPECT_TRUE(input.ended());
}

// B040: what the command does not ask for stays with the caller.
TEST_F(StreamedInputTest, AnEndlessStreamIsNotSwallowed) {
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  StreamedInput input(zero.get(), changed());
  std::size_t taken = 0;
  EXPECT_TRUE(wait_until([&] {
    taken += input.next(kBlock).size();
    return taken >= 4 * kMebibyte;
  }));
  EXPECT_FALSE(input.ended());
}

TEST_F(StreamedInputTest, AFailedReadIsTold) {
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  StreamedInput input(folder.get(), changed());
  EXPECT_TRUE(wait_until([&] { return input.failure().has_value(); }));
  EXPECT_EQ(input.failure()->kind, ErrorKind::local_io);
  EXPECT_EQ(input.next(100), "");
}

TEST_F(StreamedInputTest, ANonBlockingStreamIsWaitedFor) {
  Pipe in = make_pipe();
  ASSERT_EQ(fcntl(in.read_end.get(), F_SETFL, O_NONBLOCK), 0);
  StreamedInput input(in.read_end.get(), changed());
  ASSERT_TRUE(write_all(in.write_end.get(), "late", "pipe").has_value());
  in.write_end = UniqueFd();
  EXPECT_EQ(take_all(input), "late");
  EXPECT_EQ(error_of(input.failure()), "ok");
}

TEST_F(StreamedInputTest, MayBeDestroyedWhileAReadWaits) {
  Pipe in = make_pipe();
  {
    StreamedInput input(in.read_end.get(), changed());
    EXPECT_EQ(input.next(10), "");
  }
  // The thread that was left behind ends with the pipe.
  in.write_end = UniqueFd();
}

TEST(GivenInputTest, GivesItsBytesInPiecesAndEnds) {
  GivenInput input("0123456789");
  EXPECT_FALSE(input.ended());
  EXPECT_EQ(input.next(4), "0123");
  EXPECT_FALSE(input.ended());
  EXPECT_EQ(input.next(100), "456789");
  EXPECT_TRUE(input.ended());
  EXPECT_EQ(input.next(4), "");
  EXPECT_FALSE(input.failure().has_value());
}

TEST(GivenInputTest, NothingHasEndedAtOnce) {
  GivenInput input("");
  EXPECT_TRUE(input.ended());
  EXPECT_EQ(input.next(4), "");
}

TEST(GivenInputTest, BytesStayAsTheyAre) {
  const std::string bytes("\x00\xff\r\n\x04", 5);
  GivenInput input(bytes);
  EXPECT_EQ(input.next(100), bytes);
}

}  // namespace
}  // namespace sshx::exec
