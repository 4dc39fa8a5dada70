#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mcp/framing.h"
#include "mcp/message.h"
#include "mcp/outbox.h"
#include "mcp/revision.h"
#include "mcp/tool_call.h"
#include "mcp/tools.h"

namespace sshx::mcp {

/// What a server is made with.
struct ServerSettings {
  int input_descriptor = 0;
  int output_descriptor = 1;
  Tools tools;
  ChildSettings child;
  std::string instructions;
  Limits limits;
};

/// One client's session: takes messages, answers them or starts what answers them, and leaves
/// nothing behind. Belongs to the loop's thread.
class Session {
 public:
  Session(Runtime runtime, const ServerSettings& settings, std::shared_ptr<ThreadSignal> arrived,
          std::shared_ptr<ThreadSignal> written);

  /// Serves until the client closes the stream, stops reading or ends, or until the runtime is
  /// cancelled; then ends what still runs. Returns: adapter (`stalled`), when the client stopped
  /// reading.
  [[nodiscard]] Task<Status> run();

 private:
  /// The answers of one batch, sent as one array when all are there.
  struct Batch {
    std::size_t missing = 0;
    std::size_t bytes = 2;  ///< Of the responses, as they are sent.
    Json responses = Json::array();
  };
  /// Where a response goes: into its batch, or out at once when there is none.
  using ReplyTo = std::shared_ptr<Batch>;
  using Answer = std::variant<Json, Fault>;

  struct Call {
    std::unique_ptr<ToolCall> work;
    Json id;
    ReplyTo reply_to;
    Revision revision;
  };

  [[nodiscard]] Task<void> read_messages();
  [[nodiscard]] Task<void> wait_for_input();
  [[nodiscard]] bool must_stop() const;
  void take(const Frame& frame);
  void take_batch(Json batch);
  void take_message(Message message, const ReplyTo& reply_to);
  void take_request(Request request, const ReplyTo& reply_to);
  void take_notification(const Notification& notification);
  [[nodiscard]] Answer answer(const Request& request, const Revision& revision);
  [[nodiscard]] Answer initialize(const Request& request);
  [[nodiscard]] Answer list(const Request& request, const Revision& revision) const;

  void start_call(const Request& request, const Revision& revision, const ReplyTo& reply_to);
  [[nodiscard]] ToolCall::Report report_to(const Request& request, const Revision& revision,
                                           const void* owner);
  [[nodiscard]] Task<void> serve_call(std::shared_ptr<Call> call);
  void listen(const Request& request);
  void cancel(const Json& id);

  void respond(const ReplyTo& reply_to, const Json& response);
  void leave_unanswered(const ReplyTo& reply_to);
  void send(const Json& message);
  [[nodiscard]] Json tool_response(const Call& call, const ToolAnswer& answered) const;

  [[nodiscard]] Task<void> write_messages();
  [[nodiscard]] Task<void> finish();
  [[nodiscard]] Task<void> wait_for_calls(Deadline deadline);

  Runtime runtime_;
  const ServerSettings& settings_;
  LineFraming framing_;
  InheritedInput input_;
  std::shared_ptr<ThreadSignal> arrived_;
  Outbox outbox_;
  Wakeup changed_;
  std::string negotiated_;
  std::map<std::string, std::shared_ptr<Call>> calls_;  ///< By id, as JSON text.
  std::map<std::string, Request> listeners_;
  bool writing_ = true;
  int parent_;
};

}  // namespace sshx::mcp
