#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"

namespace sshx::mcp {

/// A protocol fault: JSON-RPC's error object. What a tool could not do is no fault but a result.
struct Fault {
  int code;
  std::string message;
  Json data = nullptr;  ///< Left out when null.
};

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kResourceNotFound = -32002;  ///< In the revisions before 2026-07-28.
inline constexpr int kUnsupportedVersion = -32022;

/// A request, its id exactly as it came: a string or an integer.
struct Request {
  Json id;
  std::string method;
  Json params;  ///< An object; empty when there was none.
};

struct Notification {
  std::string method;
  Json params;
};

/// An answer of the client. Nothing is ever asked of it, so nothing waits for one.
struct Response {};

/// What is no JSON-RPC message; `id` where it could be read.
struct Malformed {
  std::optional<Json> id;
  Fault fault;
};

using Message = std::variant<Request, Notification, Response, Malformed>;

/// Reads one JSON value as a JSON-RPC 2.0 message.
[[nodiscard]] Message read_message(Json value);

/// A client's own word as a fault quotes it: as JSON, and cut where it is long.
[[nodiscard]] std::string quoted_word(std::string_view word);

[[nodiscard]] Json result_response(const Json& id, Json result);
/// Without `id` where none could be read: MCP has no null id.
[[nodiscard]] Json error_response(const std::optional<Json>& id, const Fault& fault);
[[nodiscard]] Json notification(std::string_view method, Json params);

/// params._meta; an empty object when there is none.
[[nodiscard]] const Json& meta_of(const Json& params);

}  // namespace sshx::mcp
