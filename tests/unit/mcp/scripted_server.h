#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/result.h"
#include "mcp/limits.h"
#include "unit/core/scratch_folder.h"

namespace sshx::mcp::test {

/// Limits that no test reaches unless it sets them: generous where the product's are short.
[[nodiscard]] Limits patient_limits();

/// Lines that children write and a test waits for, or the other way round: a FIFO that stays open.
class Fifo {
 public:
  explicit Fifo(const std::string& path);
  /// The next line; fails the test when none comes.
  [[nodiscard]] std::string line();
  /// The next line as a process number.
  [[nodiscard]] pid_t pid() { return static_cast<pid_t>(std::stoi(line())); }

  void write(std::string_view text) const;

 private:
  UniqueFd descriptor_;
  std::string buffer_;
};

/// Whether the process of that number ends, or has ended.
[[nodiscard]] bool ends(pid_t pid);

struct ServerOptions {
  Limits limits = patient_limits();
  std::vector<std::string> tools = {};
  /// What children are told, by the presentation option that they need for it.
  std::vector<std::pair<std::string, std::string>> child_options = {};
  /// Started instead of the script.
  std::string program = {};
};

/// A real session on pipes, its client in the hands of a test. Each tool call starts a shell script
/// that does what `behave` said for the request's `command`. Everything that the session says must
/// be one JSON-RPC message a line; anything else fails the test.
class ScriptedServer {
 public:
  using Options = ServerOptions;

  explicit ScriptedServer(Options options = {});
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  /// Closes the stream and waits for the session to end.
  ~ScriptedServer();

  /// What a child does whose request has this `command`. `$here` is the test's folder, `$request`
  /// what came on stdin; `answer true|false WORD` prints a document.
  void behave(std::string_view command, std::string_view script) const;
  /// A FIFO in the test's folder.
  [[nodiscard]] Fifo& fifo(const std::string& name);
  [[nodiscard]] std::filesystem::path file(std::string_view name) const;

  /// Bytes as they are.
  void write(std::string_view bytes) const;
  void send(const Json& message) const { write(dump_json(message) + "\n"); }
  /// Sends a request with parameters.
  void request(const Json& id, const std::string& method, Json params = Json::object()) const;
  void cancel(const Json& id) const;
  /// Sends a call of a tool with a command, and `meta` as its _meta.
  void call(const Json& id, const std::string& command, Json meta = nullptr,
            const std::string& tool = "sshx_run") const;
  /// Shakes hands, and takes the answer.
  Json initialize(const std::string& version = "2025-11-25");

  /// The next message.
  [[nodiscard]] Json next();
  /// The next response, whose id must be `id`; notes before it are kept in `notes`.
  [[nodiscard]] Json response(const Json& id);
  /// The same, its result's document; checks that both forms of it are the same.
  [[nodiscard]] Json document(const Json& id);
  /// Waits until the session has said so many bytes that nobody has read, and leaves them there.
  void wait_for_output(std::size_t bytes = 1) const;
  /// Progress notes that came.
  [[nodiscard]] const std::vector<Json>& notes() const { return notes_; }
  /// Answers come in the order of requests where they need no child: once this one has come, all
  /// before it were taken, and what they brought is in front of it. Fails the test on any.
  void expect_nothing_before_a_ping();

  /// The client closes its end of the stream.
  void close_input();
  /// The client's process no longer reads.
  void close_output();
  /// What a signal to the server does.
  void signal();
  /// Waits until the session's loop did all that it was asked to before.
  void settle();
  /// Everything until the session's end, which must come.
  [[nodiscard]] std::vector<Json> rest();
  /// Closes the stream, and gives everything until the end.
  [[nodiscard]] std::vector<Json> finish();
  /// How it ended; waits for that.
  [[nodiscard]] Status ending();

 private:
  struct Running;
  [[nodiscard]] bool read_more();
  [[nodiscard]] std::optional<std::string> line();

  sshx::test::ScratchFolder folder_;
  std::vector<std::pair<std::string, std::unique_ptr<Fifo>>> fifos_;
  UniqueFd to_server_;
  UniqueFd from_server_;
  std::string buffer_;
  std::vector<Json> notes_;
  std::unique_ptr<Running> running_;
};

/// The error code of a response; 0 without one.
[[nodiscard]] int error_code(const Json& response);
/// What makes a request stateless.
[[nodiscard]] Json stateless_meta();
/// Those of `messages` that answer `id`.
[[nodiscard]] std::vector<Json> answers_to(const std::vector<Json>& messages, const Json& id);

}  // namespace sshx::mcp::test
