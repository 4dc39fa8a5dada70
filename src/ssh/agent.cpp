#include "ssh/agent.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "core/text.h"
#include "core/wire.h"

namespace sshx::ssh {
namespace {

// draft-ietf-sshm-ssh-agent §5.3
constexpr unsigned kRsaSha256 = 2;
constexpr unsigned kRsaSha512 = 4;
constexpr std::size_t kLargestMessage = 256UL * 1024;  // as OpenSSH's client

unsigned signature_flags(std::string_view algorithm) {
  if (algorithm == "rsa-sha2-512") return kRsaSha512;
  if (algorithm == "rsa-sha2-256") return kRsaSha256;
  return 0;
}

class AgentSigner final : public Signer {
 public:
  AgentSigner(std::shared_ptr<Agent> agent, AgentKey key)
      : agent_(std::move(agent)), key_(std::move(key)) {}

  [[nodiscard]] const PublicKey& public_key() const noexcept override { return key_.public_key; }
  [[nodiscard]] std::string description() const override {
    return "agent key " + printable(key_.comment);
  }
  Task<Result<std::string>> sign(std::string data, std::string algorithm) override {
    return agent_->sign(key_.public_key.blob, std::move(data), signature_flags(algorithm));
  }

 private:
  std::shared_ptr<Agent> agent_;
  AgentKey key_;
};

}  // namespace

Agent::Agent(asio::io_context& context, std::string socket_path, Deadline deadline,
             Cancellation& cancellation)
    : path_(std::move(socket_path)), deadline_(deadline), cancellation_(cancellation),
      socket_(context), wakeup_(std::make_shared<Wakeup>(context)) {}

Error Agent::unavailable(const std::string& why) const {
  return {
      ErrorKind::auth, "agent_unavailable",
      fmt::format("the agent at {} cannot be used: {}", path_, why),
      "start one with: eval \"$(ssh-agent)\"; or use --identity FILE, or --identity-agent none"};
}

Task<Result<std::shared_ptr<Agent>>> Agent::open(asio::io_context& context, std::string socket_path,
                                                 Deadline deadline, Cancellation& cancellation) {
  auto agent = std::make_shared<Agent>(context, std::move(socket_path), deadline, cancellation);
  SSHX_CO_CHECK(co_await agent->connect());
  SSHX_CO_CHECK(co_await agent->list());
  co_return agent;
}

Task<Status> Agent::connect() {
  // A Unix socket connects at once or fails: there is nothing to wait for.
  constexpr std::size_t kLongestPath = 107;
  if (path_.size() > kLongestPath) co_return unavailable("its path is too long for a socket");
  asio::error_code error;
  const asio::local::stream_protocol::endpoint endpoint(path_);
  socket_.connect(endpoint, error);
  if (error) co_return unavailable(error.message());
  socket_.non_blocking(true, error);
  co_return Status();
}

Task<Status> Agent::list() {
  SSHX_CO_TRY(const auto answer, co_await exchange(identities_request()));
  auto keys = parse_identities_answer(answer);
  if (!keys) co_return unavailable("its answer is not a list of keys");
  keys_ = std::move(*keys);
  co_return Status();
}

std::vector<std::shared_ptr<Signer>> Agent::signers() {
  std::vector<std::shared_ptr<Signer>> signers;
  signers.reserve(keys_.size());
  for (const auto& key : keys_)
    signers.push_back(std::make_shared<AgentSigner>(shared_from_this(), key));
  return signers;
}

Task<Result<std::string>> Agent::sign(std::string blob, std::string data, unsigned flags) {
  SSHX_CO_TRY(const auto answer, co_await exchange(sign_request(blob, data, flags)));
  const auto signature = parse_sign_answer(answer);
  if (!signature) {
    co_return Error{ErrorKind::auth, "agent_refused",
                    fmt::format("the agent at {} refused to sign", path_),
                    "unlock the agent or confirm the use of the key"};
  }
  co_return std::string(*signature);
}

Task<Result<std::string>> Agent::exchange(std::string request) {
  WireWriter message;
  message.string(request);
  SSHX_CO_CHECK(co_await write_fully(message.bytes()));
  SSHX_CO_TRY(const auto header, co_await read_exactly(sizeof(std::uint32_t)));
  const auto size = WireReader(header).uint32().value_or(0);
  if (size == 0 || size > kLargestMessage)
    co_return unavailable("its answer has an impossible length");
  auto answer = co_await read_exactly(size);
  co_return answer;
}

Task<Status> Agent::wait(asio::local::stream_protocol::socket::wait_type direction) {
  if (cancellation_.requested()) co_return cancellation_.error();
  if (passed(deadline_)) co_return unavailable("it did not answer within the connect timeout");
  const Cancellation::Subscription subscription(cancellation_, *wakeup_);
  socket_.async_wait(direction, [wakeup = wakeup_](asio::error_code) { wakeup->notify(); });
  co_await wakeup_->wait_until(deadline_);
  co_return Status();
}

Task<Status> Agent::write_fully(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto sent =
        ::send(socket_.native_handle(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      SSHX_CO_CHECK(co_await wait(asio::local::stream_protocol::socket::wait_write));
    } else {
      co_return unavailable(std::generic_category().message(errno));
    }
  }
  co_return Status();
}

Task<Result<std::string>> Agent::read_exactly(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const auto got =
        ::recv(socket_.native_handle(), bytes.data() + have, count - have, MSG_DONTWAIT);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      SSHX_CO_CHECK(co_await wait(asio::local::stream_protocol::socket::wait_read));
    } else {
      co_return unavailable(got == 0 ? "it closed the connection"
                                     : std::generic_category().message(errno));
    }
  }
  co_return bytes;
}

}  // namespace sshx::ssh
