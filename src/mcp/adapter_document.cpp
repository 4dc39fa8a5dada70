#include "mcp/adapter_document.h"

#include <utility>

#include "core/error_json.h"
#include "core/redact.h"
#include "core/utf8.h"

namespace sshx::mcp {
namespace {

/// What a person needs of a child's last words.
constexpr std::size_t kLastWords = 2048;

Json end_json(const std::optional<ChildEnd>& end) {
  if (!end) return nullptr;
  return {{"status", end->signaled ? Json(nullptr) : Json(end->status)},
          {"signal", end->signaled ? Json(end->status) : Json(nullptr)}};
}

/// Redacted before it is cut, since half a secret is not known for one.
std::string last_words(std::string_view text) {
  auto words = redact(text);
  if (words.size() > kLastWords) words.erase(0, words.size() - kLastWords);
  return printable(words);
}

Error with_hint(Error error, const AdapterFacts& facts, bool ran) {
  if (!error.hint.empty()) return error;
  error.hint = !ran ? "nothing was started; the same call may be sent again"
               : facts.run_id.is_null()
                   ? "look up what happened with sshx_audit_query before sending it again"
                   : "look up what happened with sshx_audit_query and this run_id before sending "
                     "it again";
  return error;
}

}  // namespace

Error adapter_error(std::string code, std::string message) {
  return {ErrorKind::adapter, std::move(code), std::move(message), {}};
}

Json adapter_document(const Error& error, const AdapterFacts& facts) {
  // A status proves nothing: any that a remote command has is the child's, too.
  const bool ran = facts.end.has_value();
  const auto explained = with_hint(error, facts, ran);
  return {{"schema_version", "sshx.adapter.v1"},
          {"success", false},
          {"operation", facts.operation},
          {"exit_code", -1},
          {"executed", ran ? Json(nullptr) : Json(false)},
          {"execution", facts.execution},
          {"run_id", facts.run_id},
          {"execution_id", facts.execution_id},
          {"child", end_json(facts.end)},
          {"stderr", last_words(facts.stderr_text)},
          {"error", error_json(&explained, ran ? "verify_first" : kNothingRan)},
          {"error_kind", to_string(error.kind)}};
}

}  // namespace sshx::mcp
