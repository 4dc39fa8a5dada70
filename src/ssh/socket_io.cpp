#include "ssh/socket_io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sshx::ssh {
namespace {

constexpr std::size_t kReadBuffer = 64UL * 1024;
constexpr std::size_t kFlushThreshold = 64UL * 1024;
constexpr std::size_t kGreeting = 1024;
/// Enough that a turn costs nothing, little enough that one takes a few milliseconds.
constexpr std::size_t kBytesPerTurn = 2UL * 1024 * 1024;

}  // namespace

SocketIo::SocketIo(int descriptor) : descriptor_(descriptor) {}

ssize_t SocketIo::send(int, const void* bytes, std::size_t count, int, void** abstract) {
  auto& io = *static_cast<SocketIo*>(*abstract);
  if (io.dead_) return -EPIPE;
  const bool idle = io.pending() == 0;
  io.out_.append(static_cast<const char*>(bytes), count);
  if (idle || io.pending() > kFlushThreshold) io.flush();
  return static_cast<ssize_t>(count);
}

ssize_t SocketIo::receive(int, void* bytes, std::size_t count, int, void** abstract) {
  auto& io = *static_cast<SocketIo*>(*abstract);
  if (io.turn_over()) return -EAGAIN;
  if (io.in_head_ == io.in_tail_) {
    if (io.dead_) return -ECONNRESET;
    if (io.ended_ || !io.fill()) return -EAGAIN;
  }
  const auto taken = std::min(count, io.in_tail_ - io.in_head_);
  std::memcpy(bytes, io.in_.get() + io.in_head_, taken);
  io.in_head_ += taken;
  io.given_this_turn_ += taken;
  return static_cast<ssize_t>(taken);
}

bool SocketIo::turn_over() const noexcept { return given_this_turn_ >= kBytesPerTurn; }

void SocketIo::note_debug(std::string_view words) {
  constexpr std::string_view kOptions = "key options:";
  const auto at = words.find(kOptions);
  if (at == std::string_view::npos) return;
  const std::string options(words.substr(at + kOptions.size()));
  if ((options + " ").find(" command ") != std::string::npos) forced_command_ = true;
}

bool SocketIo::fill() {
  if (!in_) in_ = std::make_unique_for_overwrite<char[]>(kReadBuffer);
  const auto got = ::recv(descriptor_, in_.get(), kReadBuffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    if (got < 0 && failure_ == 0) failure_ = errno;
    ended_ = true;
    return false;
  }
  in_head_ = 0;
  in_tail_ = static_cast<std::size_t>(got);
  last_received_ = Clock::now();
  if (greeting_.size() < kGreeting) {
    greeting_.append(in_.get(), std::min(in_tail_, kGreeting - greeting_.size()));
  }
  // Not sticky, so after every read: sshd's second small packet waits for this ACK, 40 ms a
  // connection.
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
  return true;
}

void SocketIo::flush() {
  while (pending() > 0) {
    const auto sent =
        ::send(descriptor_, out_.data() + out_head_, pending(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      // The peer is gone; what it sent before is still read to its end.
      if (failure_ == 0) failure_ = errno;
      out_head_ = out_.size();
      break;
    }
    out_head_ += static_cast<std::size_t>(sent);
  }
  if (pending() == 0) {
    out_.clear();
    out_head_ = 0;
  } else if (out_head_ > kReadBuffer) {
    out_.erase(0, out_head_);
    out_head_ = 0;
  }
}

}  // namespace sshx::ssh
