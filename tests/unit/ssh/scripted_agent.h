#pragma once

// An agent that answers as a test says, however odd. It speaks draft-ietf-sshm-ssh-agent no better
// than its script does.

#include <atomic>
#include <functional>
#include <thread>

#include "core/wire.h"
#include "unit/loop/scratch.h"

namespace sshx::test {

inline constexpr std::uint8_t kAgentFailure = 5;
inline constexpr std::uint8_t kRequestIdentities = 11;
inline constexpr std::uint8_t kIdentitiesAnswer = 12;
inline constexpr std::uint8_t kSignRequest = 13;
inline constexpr std::uint8_t kSignResponse = 14;

/// The connection as the script sees it.
class AgentPeer {
 public:
  AgentPeer(int descriptor, int stopped) : descriptor_(descriptor), stopped_(stopped) {}

  /// The next request's type and body; empty when the client has gone.
  [[nodiscard]] std::string request() const {
    const std::string header = exactly(4);
    WireReader reader(header);
    const auto size = reader.uint32();
    return size ? exactly(*size) : std::string();
  }

  void raw(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void message(std::string_view body) const {
    WireWriter writer;
    writer.string(body);
    raw(writer.bytes());
  }

  /// Waits until the test is over.
  void stay_silent() const {
    pollfd entry{.fd = stopped_, .events = POLLIN, .revents = 0};
    while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  [[nodiscard]] std::string exactly(std::size_t count) const {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got = read(descriptor_, bytes.data() + have, count - have);
      if (got <= 0) return {};
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  int descriptor_;
  int stopped_;
};

/// Runs `script` for each connection, one after the other, on a thread of its own.
class ScriptedAgent {
 public:
  using Script = std::function<void(const AgentPeer&)>;

  ScriptedAgent(const std::string& socket, Script script)
      : listener_(listen_on(socket)), stop_(make_pipe()), script_(std::move(script)),
        thread_([this] { serve(); }) {}

  ScriptedAgent(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(const ScriptedAgent&) = delete;

  ~ScriptedAgent() {
    stop_.write_end = UniqueFd();
    thread_.join();
  }

 private:
  void serve() const {
    std::array<pollfd, 2> entries{{{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = stop_.read_end.get(), .events = POLLIN, .revents = 0}}};
    for (;;) {
      if (poll(entries.data(), entries.size(), -1) < 0) continue;
      if (entries[1].revents != 0) return;
      const UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      script_(AgentPeer(client.get(), stop_.read_end.get()));
    }
  }

  UniqueFd listener_;
  Pipe stop_;
  Script script_;
  std::thread thread_;
};

struct ListedKey {
  std::string blob;
  std::string comment;
};

inline std::string identities_answer(const std::vector<ListedKey>& keys) {
  WireWriter writer;
  writer.byte(kIdentitiesAnswer);
  writer.uint32(static_cast<std::uint32_t>(keys.size()));
  for (const ListedKey& key : keys) {
    writer.string(key.blob);
    writer.string(key.comment);
  }
  return writer.bytes();
}

/// A body with one string: SSH_AGENT_SIGN_RESPONSE, say.
inline std::string answer_with(std::uint8_t type, std::string_view text) {
  WireWriter writer;
  writer.byte(type);
  writer.string(text);
  return writer.bytes();
}

/// A key's wire form whose numbers mean nothing.
inline std::string blob_of(const std::vector<std::string>& strings) {
  WireWriter writer;
  for (const std::string& text : strings) writer.string(text);
  return writer.bytes();
}

inline std::string some_ed25519(char filler) {
  return blob_of({"ssh-ed25519", std::string(32, filler)});
}

}  // namespace sshx::test
