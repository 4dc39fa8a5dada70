#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"

namespace sshx::mcp {

/// What to start. The environment is "NAME=value" each.
struct Program {
  std::string path;
  std::vector<std::string> arguments;  ///< argv, its name included.
  std::vector<std::string> environment;
};

/// How a child ended.
struct ChildEnd {
  int status = 0;  ///< Its exit status, or the number of the signal that ended it.
  bool signaled = false;

  [[nodiscard]] bool is_success() const noexcept { return !signaled && status == 0; }
};

enum class ChildStream : std::uint8_t { standard_output, standard_error };

/// One child in a process group of its own, its three standard streams on pipes; it inherits
/// nothing else. It gets SIGTERM when this process ends, however that happens. Belongs to the
/// loop's thread, which must be the one that started it (prctl(2), PR_SET_PDEATHSIG).
class ChildProcess {
 public:
  /// Called with bytes as they come; both streams are read as fast as the child writes.
  using Receive = std::function<void(ChildStream, std::string_view)>;

  /// Starts `program`, gives it `input` on stdin and then the end of it. `changed` is notified when
  /// bytes came and when a stream ended. Waits until the program runs, so that there is a child
  /// only where something was executed. The process must ignore SIGPIPE, since a child need not
  /// read its input. Returns: local_io when the program cannot be executed, or the system has no
  /// process or descriptor left.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>>
  start(asio::io_context& context, const Program& program, std::string input, Wakeup& changed,
        Receive receive);

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Ends the whole group with SIGKILL and waits for the child, if it was not reaped.
  ~ChildProcess();

  /// Looks whether it has ended; then what it left in its group is ended and it is reaped. To be
  /// called when SIGCHLD came.
  [[nodiscard]] const std::optional<ChildEnd>& look();
  /// Whether both streams were read to their ends.
  [[nodiscard]] bool streams_ended() const noexcept;
  /// Asks the child alone to end (SIGTERM).
  void terminate() const noexcept;
  /// Ends its process group (SIGKILL).
  void kill_group() const noexcept;

 private:
  struct Streams;
  ChildProcess(pid_t pid, std::shared_ptr<Streams> streams);

  pid_t pid_;
  std::shared_ptr<Streams> streams_;
  std::optional<ChildEnd> end_;
};

}  // namespace sshx::mcp
