#include <random>
#include <thread>

#include "ssh/socket_io.h"
#include "unit/loop/scratch.h"

namespace sshx::ssh {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

/// The bytes that SocketIo works on, and what stands for the peer.
class SocketIoTest : public testing::Test {
 protected:
  SocketIoTest() : ends_(make_ends()), io_(ends_.first.get()) {}

  [[nodiscard]] SocketIo& io() { return io_; }

  [[nodiscard]] int peer() const { return ends_.second.get(); }

  void close_peer() { ends_.second = UniqueFd(); }

  void peer_sends(std::string_view bytes) const {
    ASSERT_TRUE(write_all(peer(), bytes, "peer").has_value());
  }

  ssize_t send(std::string_view bytes) {
    void* abstract = &io_;
    return SocketIo::send(ends_.first.get(), bytes.data(), bytes.size(), 0, &abstract);
  }

  struct Received {
    ssize_t code = 0;
    std::string bytes;
  };

  Received receive(std::size_t limit) {
    void* abstract = &io_;
    Received received;
    received.bytes.resize(limit);
    received.code =
        SocketIo::receive(ends_.first.get(), received.bytes.data(), limit, 0, &abstract);
    received.bytes.resize(received.code > 0 ? static_cast<std::size_t>(received.code) : 0);
    return received;
  }

  /// All that is there now.
  std::string receive_all(std::size_t step = 4096) {
    std::string all;
    for (;;) {
      Received received = receive(step);
      if (received.code <= 0) return all;
      all += received.bytes;
    }
  }

 private:
  static std::pair<UniqueFd, UniqueFd> make_ends() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    // Only our end is non-blocking.
    fcntl(ends[1], F_SETFL, 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }

  std::pair<UniqueFd, UniqueFd> ends_;
  SocketIo io_;
};

std::string random_text(std::size_t size) {
  std::mt19937 generator(7);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(generator() & 0xffU);
  return text;
}

TEST_F(SocketIoTest, SendTakesEverythingThoughThePeerReadsNothing) {
  const std::string big = random_text(4 * kMebibyte);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(send(big), static_cast<ssize_t>(big.size()));
  EXPECT_GT(io().pending(), 0U);
}

TEST_F(SocketIoTest, WhatIsQueuedArrivesInOrder) {
  std::string sent;
  std::mt19937 generator(11);
  for (int i = 0; i < 300; ++i) {
    const std::string piece = random_text(generator() % 20000);
    ASSERT_EQ(send(piece), static_cast<ssize_t>(piece.size()));
    sent += piece;
  }
  std::string arrived(sent.size(), '\0');
  std::thread reader([this, &arrived] {
    std::size_t have = 0;
    while (have < arrived.size()) {
      const ssize_t count = read(peer(), arrived.data() + have, arrived.size() - have);
      if (count <= 0) return;
      have += static_cast<std::size_t>(count);
    }
  });
  while (io().pending() > 0 && io().failure() == 0) io().flush();
  reader.join();
  EXPECT_EQ(io().pending(), 0U);
  EXPECT_TRUE(arrived == sent);
}

TEST_F(SocketIoTest, FlushWritesNoMoreThanTheSocketTakes) {
  ASSERT_EQ(send(random_text(8 * kMebibyte)), static_cast<ssize_t>(8 * kMebibyte));
  const std::size_t before = io().pending();
  io().flush();
  EXPECT_LE(io().pending(), before);
  EXPECT_GT(io().pending(), 0U);
  EXPECT_EQ(io().failure(), 0);
}

TEST_F(SocketIoTest, AnEmptySocketMeansTryAgain) {
  EXPECT_EQ(receive(100).code, -EAGAIN);
  EXPECT_FALSE(io().ended());
}

TEST_F(SocketIoTest, ReceivesWhatCameInPiecesOfAnySize) {
  const std::string bytes = random_text(100000);
  peer_sends(bytes);
  EXPECT_TRUE(receive_all(7) == bytes);
  EXPECT_FALSE(io().ended());
}

// B001: the bytes before the end of the stream are never lost, and libssh2 never hears of the end.
TEST_F(SocketIoTest, TheEndIsSeenOnlyAfterAllBytes) {
  const std::string bytes = random_text(50000);
  peer_sends(bytes);
  close_peer();
  std::string all;
  while (all.size() < bytes.size()) {
    EXPECT_FALSE(io().ended()) << all.size();
    const Received received = receive(1000);
    ASSERT_GT(received.code, 0);
    all += received.bytes;
  }
  EXPECT_TRUE(all == bytes);
  EXPECT_EQ(receive(1000).code, -EAGAIN);
  EXPECT_TRUE(io().ended());
  EXPECT_EQ(receive(1000).code, -EAGAIN);
  EXPECT_EQ(io().failure(), 0);
}

TEST_F(SocketIoTest, AnEndWithoutBytesIsOrderly) {
  close_peer();
  EXPECT_EQ(receive(10).code, -EAGAIN);
  EXPECT_TRUE(io().ended());
  EXPECT_EQ(io().failure(), 0);
}

TEST_F(SocketIoTest, AFailedSocketIsTold) {
  signal(SIGPIPE, SIG_IGN);
  close_peer();
  EXPECT_EQ(send("hello"), 5);
  io().flush();
  (void)receive(10);
  EXPECT_TRUE(io().ended());
  EXPECT_NE(io().failure(), 0);
}

TEST_F(SocketIoTest, AfterAFailureSendStillTakesEverything) {
  signal(SIGPIPE, SIG_IGN);
  close_peer();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(send("hello"), 5);
}

TEST_F(SocketIoTest, ClosingWithUnreadBytesResetsButKeepsWhatCame) {
  peer_sends("last words");
  ASSERT_EQ(send("never read"), 10);
  io().flush();
  close_peer();
  EXPECT_EQ(receive_all(), "last words");
  EXPECT_TRUE(io().ended());
}

TEST_F(SocketIoTest, KillMakesBothCallbacksFail) {
  peer_sends("there already");
  io().kill();
  const ssize_t sent = send("x");
  EXPECT_LT(sent, 0);
  EXPECT_NE(sent, -EAGAIN);
  const ssize_t received = receive(10).code;
  EXPECT_LT(received, 0);
  EXPECT_NE(received, -EAGAIN);
}

TEST_F(SocketIoTest, StopReceivingEndsTheStreamAfterWhatWasRead) {
  peer_sends("abcdef");
  EXPECT_EQ(receive(3).bytes, "abc");
  io().stop_receiving();
  peer_sends("more");
  EXPECT_EQ(receive_all(), "def");
  EXPECT_TRUE(io().ended());
  EXPECT_EQ(send("still goes out"), 14);
}

TEST_F(SocketIoTest, TheGreetingIsWhatCameFirst) {
  peer_sends("HTTP/1.1 400 Bad Request\r\n");
  (void)receive(4);
  EXPECT_EQ(io().greeting(), "HTTP/1.1 400 Bad Request\r\n");
  peer_sends("more");
  (void)receive_all();
  EXPECT_EQ(io().greeting(), "HTTP/1.1 400 Bad Request\r\nmore");
}

TEST_F(SocketIoTest, TheGreetingStopsAtOneKibibyte) {
  const std::string bytes = random_text(3000);
  peer_sends(bytes.substr(0, 1000));
  (void)receive_all();
  peer_sends(bytes.substr(1000));
  (void)receive_all();
  EXPECT_TRUE(io().greeting() == bytes.substr(0, 1024)) << io().greeting().size();
}

}  // namespace
}  // namespace sshx::ssh
