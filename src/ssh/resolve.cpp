#include "ssh/resolve.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

namespace sshx::ssh {
namespace {

using Endpoints = std::vector<asio::ip::tcp::endpoint>;

struct AddressInfoDeleter {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

asio::ip::tcp::endpoint endpoint_of(const addrinfo& entry) {
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(entry.ai_addrlen);
  std::memcpy(endpoint.data(), entry.ai_addr, entry.ai_addrlen);
  return endpoint;
}

Error lookup_error(const std::string& host, int code, int error_number) {
  const auto reason = code == EAI_SYSTEM ? std::generic_category().message(error_number)
                                         : std::string(::gai_strerror(code));
  return {ErrorKind::connect, "dns", fmt::format("cannot resolve {}: {}", host, reason),
          code == EAI_AGAIN ? "the name server did not answer; try again"
                            : "check the address with: sshx host show"};
}

Result<Endpoints> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &raw);
  if (code != 0) return lookup_error(host, code, errno);
  const std::unique_ptr<addrinfo, AddressInfoDeleter> list(raw);
  Endpoints endpoints;
  for (const auto* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    endpoints.push_back(endpoint_of(*entry));
  }
  return endpoints;
}

/// What the helper thread and the loop share; the thread may outlive the loop.
struct Lookup {
  std::mutex mutex;
  std::optional<Result<Endpoints>> answer;

  std::optional<Result<Endpoints>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(answer, std::nullopt);
  }
};

std::shared_ptr<Lookup> start_lookup(const std::string& host, std::uint16_t port,
                                     const std::shared_ptr<ThreadSignal>& signal) {
  auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, signal, host, port] {
    auto found = look_up(host, port, AI_ADDRCONFIG);
    {
      const std::lock_guard lock(lookup->mutex);
      lookup->answer.emplace(std::move(found));
    }
    signal->raise();
  }).detach();
  return lookup;
}

}  // namespace

Task<Result<Endpoints>> resolve(asio::io_context& context, std::string host, std::uint16_t port,
                                Deadline deadline, Cancellation& cancellation) {
  auto literal = look_up(host, port, AI_NUMERICHOST);
  if (literal) co_return literal;
  SSHX_CO_TRY(auto signal, ThreadSignal::make());
  Wakeup wakeup(context);
  const Cancellation::Subscription subscription(cancellation, wakeup);
  const SignalRelay relay(context, signal, wakeup);
  const auto lookup = start_lookup(host, port, signal);
  for (;;) {
    auto answer = lookup->take();
    if (answer) co_return std::move(*answer);
    if (cancellation.requested()) co_return cancellation.error();
    if (passed(deadline)) {
      co_return Error{ErrorKind::connect, "timeout",
                      fmt::format("resolving {} took longer than the connect timeout", host),
                      "raise it with --connect-timeout, or check the name server"};
    }
    co_await wakeup.wait_until(deadline);
  }
}

}  // namespace sshx::ssh
