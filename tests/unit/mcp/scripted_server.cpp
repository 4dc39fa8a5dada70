#include "unit/mcp/scripted_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include "mcp/session.h"
#include "unit/loop/scratch.h"

namespace sshx::mcp::test {
namespace {

using sshx::test::kGuardSeconds;

/// Says what it is asked to, by the `command` of the request on its stdin.
constexpr std::string_view kScript = R"sh(#!/bin/sh
here=${0%/*}
IFS= read -r request
answer() {
  printf '{"schema_version":"sshx.result.v1","success":%s,"said":"%s"}\n' "$1" "$2"
}
name=${request#*'"command":"'}
name=${name%%'"'*}
. "$here/do-$name"
)sh";

/// As the binary does, before anything else.
class IgnoringSigpipe : public testing::Environment {
 public:
  void SetUp() override { static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); }
};

const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new IgnoringSigpipe);

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

/// One message: a response with an id or an error that could not be given one, or a notification.
bool is_message(const Json& message) {
  if (!message.is_object() || message.value("jsonrpc", Json()) != "2.0") return false;
  if (message.contains("method"))
    return message["method"].is_string() && !message.contains("id") &&
           message["params"].is_object();
  const bool has_result = message.contains("result");
  const bool has_error = message.contains("error");
  if (has_result == has_error) return false;
  return message.contains("id") ? is_id(message["id"]) : has_error;
}

bool is_batch(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, is_message);
}

Task<Status> serve(Runtime runtime, const ServerSettings& settings,
                   std::shared_ptr<ThreadSignal> arrived, std::shared_ptr<ThreadSignal> written) {
  Session session(runtime, settings, std::move(arrived), std::move(written));
  co_return co_await session.run();
}

}  // namespace

Limits patient_limits() {
  Limits limits;
  limits.note_seconds = limits.stall_seconds = limits.watchdog_seconds = kGuardSeconds;
  limits.grace_seconds = limits.heartbeat_seconds = limits.drain_seconds = kGuardSeconds;
  limits.settle_seconds = 0;
  return limits;
}

Fifo::Fifo(const std::string& path) {
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
  // Both ends, so that nobody waits for the other side or sees an end.
  descriptor_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(descriptor_)) << path;
}

std::string Fifo::line() {
  while (buffer_.find('\n') == std::string::npos) {
    if (!sshx::test::wait_readable(descriptor_.get())) return "0";
    std::array<char, 4096> bytes{};
    const auto count = ::read(descriptor_.get(), bytes.data(), bytes.size());
    if (count > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const auto end = buffer_.find('\n');
  auto line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

void Fifo::write(std::string_view text) const {
  EXPECT_TRUE(write_all(descriptor_.get(), text, "a FIFO").has_value());
}

bool ends(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno == ESRCH;
  return sshx::test::wait_readable(process.get());
}

/// The session, on a thread of its own.
struct ScriptedServer::Running {
  void run() {
    auto arrived = ThreadSignal::make();
    auto written = ThreadSignal::make();
    status =
        run_to_end(context, serve(Runtime{context, cancellation}, settings, *arrived, *written));
    input = UniqueFd();
    output = UniqueFd();
  }

  ServerSettings settings;
  UniqueFd input;
  UniqueFd output;
  asio::io_context context;
  Cancellation cancellation;
  std::optional<Status> status;
  std::thread thread;
};

ScriptedServer::ScriptedServer(Options options) : running_(std::make_unique<Running>()) {
  sshx::test::write_file(file("program"), kScript, 0700);
  auto incoming = sshx::test::make_pipe();
  auto outgoing = sshx::test::make_pipe();
  to_server_ = std::move(incoming.write_end);
  from_server_ = std::move(outgoing.read_end);
  running_->input = std::move(incoming.read_end);
  running_->output = std::move(outgoing.write_end);
  auto& settings = running_->settings;
  settings.input_descriptor = running_->input.get();
  settings.output_descriptor = running_->output.get();
  auto tools = Tools::choose(options.tools, {});
  EXPECT_TRUE(tools.has_value());
  settings.tools = std::move(tools).value();
  settings.child.program = options.program.empty() ? file("program").string() : options.program;
  settings.child.environment = {"PATH=/usr/bin:/bin", "SSHX_ENTRY=mcp"};
  settings.child.options = std::move(options.child_options);
  settings.instructions = "the instructions";
  settings.limits = options.limits;
  running_->thread = std::thread([running = running_.get()] { running->run(); });
}

ScriptedServer::~ScriptedServer() {
  close_input();
  // What nobody reads must not keep the session.
  while (read_more()) buffer_.clear();
  if (running_->thread.joinable()) running_->thread.join();
}

void ScriptedServer::behave(std::string_view command, std::string_view script) const {
  sshx::test::write_file(file("do-" + std::string(command)), script);
}

Fifo& ScriptedServer::fifo(const std::string& name) {
  const auto found = std::ranges::find(fifos_, name, [](const auto& entry) { return entry.first; });
  if (found != fifos_.end()) return *found->second;
  return *fifos_.emplace_back(name, std::make_unique<Fifo>(file(name).string())).second;
}

std::filesystem::path ScriptedServer::file(std::string_view name) const { return folder_ / name; }

void ScriptedServer::write(std::string_view bytes) const {
  EXPECT_TRUE(write_all(to_server_.get(), bytes, "the server").has_value());
}

void ScriptedServer::request(const Json& id, const std::string& method, Json params) const {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
}

void ScriptedServer::cancel(const Json& id) const {
  send({{"jsonrpc", "2.0"},
        {"method", "notifications/cancelled"},
        {"params", {{"requestId", id}, {"reason", "a test"}}}});
}

void ScriptedServer::call(const Json& id, const std::string& command, Json meta,
                          const std::string& tool) const {
  Json params = {{"name", tool}, {"arguments", {{"command", command}}}};
  if (!meta.is_null()) params["_meta"] = std::move(meta);
  request(id, "tools/call", std::move(params));
}

Json ScriptedServer::initialize(const std::string& version) {
  request("handshake", "initialize",
          {{"protocolVersion", version},
           {"capabilities", Json::object()},
           {"clientInfo", {{"name", "a test"}, {"version", "1"}}}});
  auto answer = response("handshake");
  send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  return answer;
}

bool ScriptedServer::read_more() {
  if (!from_server_ || !sshx::test::wait_readable(from_server_.get())) return false;
  std::array<char, 65536> bytes{};
  const auto count = ::read(from_server_.get(), bytes.data(), bytes.size());
  if (count > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

void ScriptedServer::wait_for_output(std::size_t bytes) const {
  int there = 0;
  const auto guard = after(sshx::test::kGuardSeconds);
  while (there < static_cast<int>(bytes) && !passed(guard)) {
    ASSERT_TRUE(sshx::test::wait_readable(from_server_.get()));
    ASSERT_EQ(::ioctl(from_server_.get(), FIONREAD, &there), 0);
    std::this_thread::yield();
  }
  EXPECT_GE(there, static_cast<int>(bytes));
}

std::optional<std::string> ScriptedServer::line() {
  auto end = buffer_.find('\n');
  while (end == std::string::npos) {
    const auto searched = buffer_.size();
    if (!read_more()) return std::nullopt;
    end = buffer_.find('\n', searched);
  }
  auto line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Json ScriptedServer::next() {
  const auto text = line();
  if (!text) {
    ADD_FAILURE() << "the session said no more";
    return nullptr;
  }
  const auto message = parse_json(*text, "a message");
  EXPECT_TRUE(message.has_value()) << *text;
  if (!message) return nullptr;
  EXPECT_TRUE(is_message(*message) || is_batch(*message)) << *text;
  return *message;
}

Json ScriptedServer::response(const Json& id) {
  for (auto message = next(); !message.is_null(); message = next()) {
    if (message.is_object() && message.value("method", Json()) == "notifications/progress") {
      notes_.push_back(message);
      continue;
    }
    EXPECT_TRUE(message.is_object() && message.value("id", Json()) == id)
        << dump_json(message) << " instead of " << dump_json(id);
    return message;
  }
  return nullptr;
}

Json ScriptedServer::document(const Json& id) {
  const auto answer = response(id);
  if (!answer.contains("result")) {
    ADD_FAILURE() << "no result: " << dump_json(answer);
    return Json::object();
  }
  const auto& result = answer["result"];
  EXPECT_EQ(result["content"].size(), 1U);
  const auto text = parse_json(result["content"][0]["text"].get<std::string>(), "the text");
  EXPECT_TRUE(text.has_value());
  EXPECT_EQ(dump_json(*text), dump_json(result["structuredContent"])) << "each complete alone";
  EXPECT_TRUE(result["isError"].is_boolean());
  return result["structuredContent"];
}

void ScriptedServer::expect_nothing_before_a_ping() {
  static int number = 0;
  const auto id = "ping " + std::to_string(++number);
  request(id, "ping");
  EXPECT_EQ(dump_json(next()),
            dump_json(Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", Json::object()}}));
}

void ScriptedServer::close_input() { to_server_ = UniqueFd(); }

void ScriptedServer::close_output() { from_server_ = UniqueFd(); }

void ScriptedServer::signal() {
  asio::post(running_->context, [this] { running_->cancellation.request("SIGTERM"); });
}

void ScriptedServer::settle() {
  // Once around the loop is enough for what was posted, a few times for what that led to.
  for (int round = 0; round < 10; ++round) {
    // The loop may still be in it when this side goes on.
    const auto done = std::make_shared<std::promise<void>>();
    asio::post(running_->context, [done] { done->set_value(); });
    // A session that has ended does nothing more.
    auto is_done = done->get_future();
    while (is_done.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready &&
           !running_->context.stopped()) {
    }
  }
}

std::vector<Json> ScriptedServer::rest() {
  std::vector<Json> messages;
  while (buffer_.find('\n') != std::string::npos || read_more()) {
    if (buffer_.find('\n') != std::string::npos) messages.push_back(next());
  }
  EXPECT_EQ(buffer_, "") << "a message breaks off";
  return messages;
}

std::vector<Json> ScriptedServer::finish() {
  close_input();
  return rest();
}

Status ScriptedServer::ending() {
  if (running_->thread.joinable()) running_->thread.join();
  return running_->status.value();
}

int error_code(const Json& response) {
  if (!response.is_object() || !response.contains("error")) return 0;
  EXPECT_FALSE(response["error"]["message"].get<std::string>().empty());
  return response["error"]["code"].get<int>();
}

Json stateless_meta() {
  return {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
          {"io.modelcontextprotocol/clientInfo", {{"name", "a test"}, {"version", "1"}}},
          {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
}

std::vector<Json> answers_to(const std::vector<Json>& messages, const Json& id) {
  std::vector<Json> answers;
  std::ranges::copy_if(messages, std::back_inserter(answers), [&](const Json& message) {
    return message.is_object() && message.value("id", Json()) == id;
  });
  return answers;
}

}  // namespace sshx::mcp::test
