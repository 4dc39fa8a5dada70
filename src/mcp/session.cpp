#include "mcp/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "mcp/adapter_document.h"
#include "mcp/catalog.h"

namespace sshx::mcp {
namespace {

constexpr std::size_t kReadSize = 64UL * 1024;
/// Beyond this a client is read no further until it reads.
constexpr std::size_t kUnread = 16UL * 1024 * 1024;
/// How often it is looked whether the client's process still lives: it may have left the stream
/// open in another one.
constexpr double kParentSeconds = 1;
/// For the last answers, once everything else is over.
constexpr double kLastAnswersSeconds = 1;

/// In one batch: what answers them is one message.
constexpr std::size_t kBatchMessages = 1000;

constexpr const char* kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

std::string key_of(const Json& id) { return dump_json(id); }

bool is_token(const Json& value) { return value.is_string() || value.is_number_integer(); }

Json result_of(const ToolAnswer& answer, const Revision& revision) {
  Json result = {
      {"content", Json::array({{{"type", "text"}, {"text", dump_json(answer.document)}}})}};
  if (revision.has_structured_content()) result["structuredContent"] = answer.document;
  result["isError"] = answer.is_error;
  return finished(revision, std::move(result));
}

/// The end of a subscription, which a server that goes says with its answer to the request.
Json closing_response(const Request& request) {
  const Revision revision{Era::stateless, std::string(kStatelessRevisions.front())};
  auto result = finished(revision, Json::object());
  result["_meta"][kSubscriptionKey] = request.id;
  return result_response(request.id, std::move(result));
}

}  // namespace

Session::Session(Runtime runtime, const ServerSettings& settings,
                 std::shared_ptr<ThreadSignal> arrived, std::shared_ptr<ThreadSignal> written)
    : runtime_(runtime), settings_(settings), framing_(settings.limits.incoming_bytes),
      input_(settings.input_descriptor, "the MCP client", arrived), arrived_(std::move(arrived)),
      outbox_(runtime, settings.output_descriptor, std::move(written), settings.limits),
      changed_(runtime.context), parent_(::getppid()) {}

Task<Status> Session::run() {
  const Cancellation::Subscription subscription(runtime_.cancellation, changed_);
  const SignalRelay relay(runtime_.context, arrived_, changed_);
  const SignalWatch children(runtime_.context, SIGCHLD, [this] {
    for (const auto& [id, call] : calls_) call->work->notice_child_end();
  });
  spawn(runtime_.context, write_messages());
  co_await read_messages();
  co_await finish();
  if (outbox_.failure() && outbox_.failure()->kind == ErrorKind::adapter) {
    co_return *outbox_.failure();
  }
  co_return Status();
}

Task<void> Session::write_messages() {
  co_await outbox_.write();
  writing_ = false;
  changed_.notify();
}

bool Session::must_stop() const {
  return runtime_.cancellation.requested() || !writing_ || ::getppid() != parent_;
}

Task<void> Session::wait_for_input() { co_await changed_.wait_until(after(kParentSeconds)); }

Task<void> Session::read_messages() {
  while (!must_stop()) {
    auto bytes = outbox_.waiting() < kUnread ? input_.next(kReadSize) : std::string();
    if (bytes.empty() && input_.ended()) {
      // Only the end of the stream makes a message of a line without one.
      if (const auto frame = framing_.last()) take(*frame);
      break;
    }
    framing_.receive(bytes);
    for (auto frame = framing_.next(); frame; frame = framing_.next()) take(*frame);
    // Others of the loop get their turn, also while a client sends without end.
    if (!bytes.empty()) changed_.notify();
    co_await wait_for_input();
  }
}

void Session::take(const Frame& frame) {
  if (frame.too_large) {
    return send(error_response(std::nullopt,
                               {kInvalidRequest, fmt::format("a message may have {} bytes at most",
                                                             settings_.limits.incoming_bytes)}));
  }
  auto value = parse_json(frame.text, "the message");
  if (!value) return send(error_response(std::nullopt, {kParseError, value.error().message}));
  if (value->is_array()) return take_batch(*std::move(value));
  take_message(read_message(*std::move(value)), nullptr);
}

void Session::take_batch(Json batch) {
  if (batch.empty() || !Revision{Era::handshake, negotiated_}.has_batches()) {
    return send(
        error_response(std::nullopt, {kInvalidRequest, "batches are not part of this revision"}));
  }
  if (batch.size() > kBatchMessages) {
    return send(error_response(
        std::nullopt,
        {kInvalidRequest, fmt::format("a batch may have {} messages at most", kBatchMessages)}));
  }
  std::vector<Message> messages;
  for (auto& item : batch) messages.push_back(read_message(std::move(item)));
  const auto reply_to = std::make_shared<Batch>();
  reply_to->missing = static_cast<std::size_t>(std::ranges::count_if(messages, [](const auto& m) {
    return std::holds_alternative<Request>(m) || std::holds_alternative<Malformed>(m);
  }));
  for (auto& message : messages) take_message(std::move(message), reply_to);
}

void Session::take_message(Message message, const ReplyTo& reply_to) {
  if (const auto* malformed = std::get_if<Malformed>(&message)) {
    respond(reply_to, error_response(malformed->id, malformed->fault));
  } else if (auto* request = std::get_if<Request>(&message)) {
    take_request(std::move(*request), reply_to);
  } else if (const auto* notice = std::get_if<Notification>(&message)) {
    take_notification(*notice);
  }
}

void Session::take_request(Request request, const ReplyTo& reply_to) {
  const auto revision = revision_of(request, negotiated_);
  if (const auto* fault = std::get_if<Fault>(&revision)) {
    return respond(reply_to, error_response(request.id, *fault));
  }
  const auto& agreed = std::get<Revision>(revision);
  if (reply_to && (agreed.era == Era::stateless || request.method == "initialize")) {
    return respond(reply_to, error_response(request.id, {kInvalidRequest,
                                                         "this request cannot be in a batch"}));
  }
  if (calls_.contains(key_of(request.id)) || listeners_.contains(key_of(request.id))) {
    return respond(reply_to, error_response(request.id, {kInvalidRequest,
                                                         "a request with this id is under way"}));
  }
  if (request.method == "tools/call") return start_call(request, agreed, reply_to);
  if (request.method == "subscriptions/listen" && agreed.era == Era::stateless) {
    return listen(request);
  }
  auto answered = answer(request, agreed);
  if (const auto* fault = std::get_if<Fault>(&answered)) {
    return respond(reply_to, error_response(request.id, *fault));
  }
  respond(reply_to, result_response(request.id, std::get<Json>(std::move(answered))));
}

void Session::take_notification(const Notification& notification) {
  if (notification.method != "notifications/cancelled") return;
  const auto id = notification.params.find("requestId");
  if (id != notification.params.end()) cancel(*id);
}

Session::Answer Session::answer(const Request& request, const Revision& revision) {
  const auto& method = request.method;
  const bool is_handshake = revision.era == Era::handshake;
  if (method == "initialize" && is_handshake) return initialize(request);
  if (method == "ping" && is_handshake) return Json::object();
  if (method == "server/discover" && !is_handshake) {
    return cacheable(revision, discover_result(settings_.instructions));
  }
  if (method == "tools/list" || method == "resources/list" ||
      method == "resources/templates/list") {
    return list(request, revision);
  }
  if (method == "resources/read") {
    auto contents = read_resource(request.params, revision);
    if (const auto* fault = std::get_if<Fault>(&contents)) return *fault;
    return cacheable(revision, std::get<Json>(std::move(contents)));
  }
  return Fault{kMethodNotFound, fmt::format("there is no method {}", quoted_word(method))};
}

Session::Answer Session::initialize(const Request& request) {
  const auto version = request.params.find("protocolVersion");
  if (version == request.params.end() || !version->is_string()) {
    return Fault{kInvalidParams, "params needs protocolVersion, a string"};
  }
  negotiated_ = negotiate(*version);
  return initialize_result(negotiated_, settings_.instructions);
}

Session::Answer Session::list(const Request& request, const Revision& revision) const {
  // Everything fits on one page, so no cursor was ever given.
  if (request.params.contains("cursor")) return Fault{kInvalidParams, "there is no such cursor"};
  Json result = Json::object();
  if (request.method == "tools/list") {
    result["tools"] = settings_.tools.list(revision);
  } else if (request.method == "resources/list") {
    result["resources"] = resource_list();
  } else {
    result["resourceTemplates"] = Json::array();
  }
  return cacheable(revision, std::move(result));
}

void Session::start_call(const Request& request, const Revision& revision,
                         const ReplyTo& reply_to) {
  const auto refuse = [&](std::string why) {
    respond(reply_to, error_response(request.id, {kInvalidParams, std::move(why)}));
  };
  const auto name = request.params.find("name");
  if (name == request.params.end() || !name->is_string()) {
    return refuse("params needs name, a string");
  }
  auto arguments = request.params.value("arguments", Json::object());
  // Some clients write null for none.
  if (arguments.is_null()) arguments = Json::object();
  if (!arguments.is_object()) return refuse("arguments must be an object");
  const auto& tool = name->get_ref<const std::string&>();
  const auto* operation = settings_.tools.find(tool);
  if (operation == nullptr) return refuse(fmt::format("there is no tool {}", quoted_word(tool)));
  auto call = std::make_shared<Call>(Call{nullptr, request.id, reply_to, revision});
  call->work =
      std::make_unique<ToolCall>(runtime_.context, settings_.child, settings_.limits, *operation,
                                 arguments, report_to(request, revision, call.get()));
  if (calls_.size() >= settings_.limits.calls) {
    return respond(reply_to, tool_response(*call, call->work->refused()));
  }
  calls_.emplace(key_of(request.id), call);
  spawn(runtime_.context, serve_call(std::move(call)));
}

ToolCall::Report Session::report_to(const Request& request, const Revision& revision,
                                    const void* owner) {
  const auto token = meta_of(request.params).find("progressToken");
  if (token == meta_of(request.params).end() || !is_token(*token)) return {};
  return [this, owner, token = *token, revision](const Progress& progress) {
    Json params = {{"progressToken", token}, {"progress", progress.value}};
    if (progress.total) params["total"] = *progress.total;
    if (revision.has_progress_messages()) params["message"] = progress.message;
    outbox_.offer(owner,
                  framing_.framed(dump_json(notification("notifications/progress", params))));
  };
}

Task<void> Session::serve_call(std::shared_ptr<Call> call) {
  const auto answered = co_await call->work->run();
  outbox_.forget(call.get());
  if (answered) {
    respond(call->reply_to, tool_response(*call, *answered));
  } else {
    leave_unanswered(call->reply_to);
  }
  calls_.erase(key_of(call->id));
  changed_.notify();
}

Json Session::tool_response(const Call& call, const ToolAnswer& answered) const {
  auto response = result_response(call.id, result_of(answered, call.revision));
  // A batch is one message to the client.
  const auto taken = call.reply_to ? call.reply_to->bytes : 0;
  const auto limit = settings_.limits.outgoing_bytes;
  if (dump_json(response).size() + taken <= limit) return response;
  return result_response(call.id, result_of(call.work->oversized(answered, limit), call.revision));
}

void Session::listen(const Request& request) {
  const auto filter = request.params.find("notifications");
  if (filter == request.params.end() || !filter->is_object()) {
    return send(
        error_response(request.id, {kInvalidParams, "params needs notifications, an object"}));
  }
  // Lists never change while a server lives, so there is nothing to agree to.
  send(notification(
      "notifications/subscriptions/acknowledged",
      {{"_meta", {{kSubscriptionKey, request.id}}}, {"notifications", Json::object()}}));
  listeners_.emplace(key_of(request.id), request);
}

void Session::cancel(const Json& id) {
  const auto key = key_of(id);
  listeners_.erase(key);
  const auto found = calls_.find(key);
  if (found != calls_.end()) found->second->work->cancel();
}

void Session::respond(const ReplyTo& reply_to, const Json& response) {
  if (!reply_to) return send(response);
  reply_to->bytes += dump_json(response).size() + 1;
  reply_to->responses.push_back(response);
  leave_unanswered(reply_to);
}

void Session::leave_unanswered(const ReplyTo& reply_to) {
  if (!reply_to || --reply_to->missing > 0) return;
  if (!reply_to->responses.empty()) send(reply_to->responses);
}

void Session::send(const Json& message) { outbox_.send(framing_.framed(dump_json(message))); }

Task<void> Session::wait_for_calls(Deadline deadline) {
  while (!calls_.empty() && !passed(deadline) && !must_stop()) {
    co_await changed_.wait_until(std::min(deadline, after(kParentSeconds)));
  }
}

/// A client that closed the stream may still read what is on its way; one that ended, or wants
/// this process to end, is not kept waiting. A second signal ends the wait for an orderly end; the
/// first may well come during it, from a client that closed the stream before.
Task<void> Session::finish() {
  co_await wait_for_calls(after(settings_.limits.drain_seconds));
  for (const auto& [id, call] : calls_) call->work->shut_down();
  bool was_asked = false;
  while (!calls_.empty()) {
    if (runtime_.cancellation.requested()) {
      runtime_.cancellation.acknowledge();
      if (std::exchange(was_asked, true)) {
        for (const auto& [id, call] : calls_) call->work->kill();
      }
    }
    co_await changed_.wait_until(kNoDeadline);
  }
  for (const auto& [id, request] : listeners_) send(closing_response(request));
  outbox_.close(after(kLastAnswersSeconds));
  while (writing_) co_await changed_.wait_until(kNoDeadline);
}

}  // namespace sshx::mcp
