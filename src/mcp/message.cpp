#include "mcp/message.h"

#include <utility>

namespace sshx::mcp {
namespace {

/// Longer than any name of a method, a tool or a revision.
constexpr std::size_t kQuotedBytes = 100;

bool is_id(const Json& value) { return value.is_string() || value.is_number_integer(); }

Malformed invalid(const Json& value, std::string why) {
  std::optional<Json> id;
  if (value.is_object() && value.contains("id") && is_id(value["id"])) id = value["id"];
  return {std::move(id), {kInvalidRequest, std::move(why)}};
}

bool is_response(const Json& value) {
  return !value.contains("method") && (value.contains("result") || value.contains("error"));
}

}  // namespace

Message read_message(Json value) {
  if (!value.is_object()) return invalid(value, "a message must be an object");
  if (value.value("jsonrpc", Json()) != "2.0") return invalid(value, "jsonrpc must be \"2.0\"");
  if (is_response(value)) return Response{};
  const auto method = value.find("method");
  if (method == value.end() || !method->is_string())
    return invalid(value, "method must be a string");
  auto params = value.value("params", Json::object());
  const auto id = value.find("id");
  if (id == value.end()) {
    if (!params.is_object()) params = Json::object();
    return Notification{method->get<std::string>(), std::move(params)};
  }
  if (!is_id(*id)) return invalid(value, "id must be a string or an integer");
  if (!params.is_object()) return Malformed{*id, {kInvalidParams, "params must be an object"}};
  return Request{*id, method->get<std::string>(), std::move(params)};
}

std::string quoted_word(std::string_view word) {
  const bool is_long = word.size() > kQuotedBytes;
  return dump_json(std::string(word.substr(0, kQuotedBytes)) + (is_long ? "..." : ""));
}

Json result_response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_response(const std::optional<Json>& id, const Fault& fault) {
  Json response = {{"jsonrpc", "2.0"}};
  if (id) response["id"] = *id;
  response["error"] = {{"code", fault.code}, {"message", fault.message}};
  if (!fault.data.is_null()) response["error"]["data"] = fault.data;
  return response;
}

Json notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

const Json& meta_of(const Json& params) {
  static const Json kNone = Json::object();
  const auto meta = params.find("_meta");
  return meta != params.end() && meta->is_object() ? *meta : kNone;
}

}  // namespace sshx::mcp
