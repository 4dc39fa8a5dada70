#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "ssh/resolve.h"
#include "unit/loop/scratch.h"

namespace {

/// Holds every look-up of this process back while it is closed.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }

  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
    changed_.notify_all();
  }

  /// Waits until at least `count` look-ups are held back; with 0, until all have gone on.
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return count == 0 ? waiting_ == 0 : waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

Gate& gate() {
  static Gate the_gate;
  return the_gate;
}

}  // namespace

/// Stands before the system's, as a name server that does not answer.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using Resolver = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system_resolver = reinterpret_cast<Resolver>(dlsym(RTLD_NEXT, "getaddrinfo"));
  // A literal address asks no name server.
  if (hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0) gate().pass();
  return system_resolver(host, service, hints, found);
}

namespace sshx::ssh {
namespace {

using test::kGuardSeconds;
using test::Loop;
using test::outcome_of;

using Endpoints = Result<std::vector<asio::ip::tcp::endpoint>>;

Endpoints look_up(Loop& loop, const std::string& host, std::uint16_t port, Deadline deadline) {
  return loop.run(resolve(loop.context(), host, port, deadline, loop.cancellation()));
}

TEST(ResolveTest, ALiteralIsItself) {
  struct Case {
    std::string host;
    std::string address;
  };

  for (const Case& one : {Case{"127.0.0.1", "127.0.0.1"}, Case{"10.20.30.40", "10.20.30.40"},
                          Case{"::1", "::1"}, Case{"2001:db8::5", "2001:db8::5"}}) {
    Loop loop;
    const Endpoints found = look_up(loop, one.host, 2222, after(kGuardSeconds));
    ASSERT_EQ(outcome_of(found), "ok") << one.host;
    ASSERT_EQ(found->size(), 1U) << one.host;
    EXPECT_EQ(found->front().address().to_string(), one.address);
    EXPECT_EQ(found->front().port(), 2222);
  }
}

TEST(ResolveTest, ALinkLocalLiteralKeepsItsScope) {
  Loop loop;
  const Endpoints found = look_up(loop, "fe80::1%lo", 22, after(kGuardSeconds));
  ASSERT_EQ(outcome_of(found), "ok");
  EXPECT_NE(found->front().address().to_v6().scope_id(), 0U);
}

TEST(ResolveTest, LocalhostIsALoopbackAddress) {
  Loop loop;
  const Endpoints found = look_up(loop, "localhost", 22, after(kGuardSeconds));
  ASSERT_EQ(outcome_of(found), "ok");
  ASSERT_FALSE(found->empty());
  for (const auto& endpoint : *found) {
    EXPECT_TRUE(endpoint.address().is_loopback());
    EXPECT_EQ(endpoint.port(), 22);
  }
}

TEST(ResolveTest, AnUnknownNameIsADnsError) {
  // RFC 6761: .invalid never resolves.
  Loop loop;
  const Endpoints found = look_up(loop, "no-such-host.invalid", 22, after(kGuardSeconds));
  ASSERT_EQ(outcome_of(found), "connect/dns");
  EXPECT_NE(found.error().message.find("no-such-host.invalid"), std::string::npos);
}

/// Look-ups that hang, until the end of its life.
class HangingResolveTest : public testing::Test {
 protected:
  HangingResolveTest() { gate().close(); }

  ~HangingResolveTest() override {
    gate().open();
    gate().wait_for(0);
  }
};

// B181
TEST_F(HangingResolveTest, TheDeadlineEndsALookUp) {
  Loop loop;
  const Endpoints found = look_up(loop, "web.example", 22, after(test::kShortSeconds));
  ASSERT_EQ(outcome_of(found), "connect/timeout");
  EXPECT_NE(found.error().message.find("web.example"), std::string::npos);
}

TEST_F(HangingResolveTest, ACancellationEndsALookUp) {
  Loop loop;
  asio::post(loop.context(), [&loop] { loop.cancellation().request("SIGINT"); });
  EXPECT_EQ(outcome_of(look_up(loop, "web.example", 22, after(kGuardSeconds))), "cancelled/signal");
}

TEST_F(HangingResolveTest, ALiteralDoesNotWait) {
  Loop loop;
  for (const std::string address : {"127.0.0.1", "::1"})
    EXPECT_EQ(outcome_of(look_up(loop, address, 22, after(kGuardSeconds))), "ok");
}

TEST_F(HangingResolveTest, LookUpsThatWereLeftBehindHarmNobody) {
  for (int held = 1; held <= 20; ++held) {
    Loop loop;
    std::thread canceller([&loop, held] {
      gate().wait_for(held);
      asio::post(loop.context(), [&loop] { loop.cancellation().request("SIGINT"); });
    });
    EXPECT_EQ(outcome_of(look_up(loop, "localhost", 22, after(kGuardSeconds))), "cancelled/signal");
    canceller.join();
  }
  // They end when their loops are long gone.
  gate().open();
  gate().wait_for(0);
  Loop loop;
  EXPECT_EQ(outcome_of(look_up(loop, "localhost", 22, after(kGuardSeconds))), "ok");
}

TEST(ResolveTest, ACancelledRequestIsNotLookedUp) {
  Loop loop;
  loop.cancellation().request("SIGINT");
  EXPECT_EQ(outcome_of(look_up(loop, "no-such-host.invalid", 22, after(kGuardSeconds))),
            "cancelled/signal");
}

}  // namespace
}  // namespace sshx::ssh
