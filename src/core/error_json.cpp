#include "core/error_json.h"

#include "core/redact.h"

namespace sshx {

Json error_json(const Error* error, std::string_view retry_safety) {
  if (error == nullptr) return nullptr;
  Json json = Json::object();
  json["kind"] = to_string(error->kind);
  json["code"] = error->code;
  json["message"] = redact(error->message);
  json["phase"] = to_string(error->phase());
  json["retryable"] = info(error->kind).retryable == Retryable::yes;
  json["retry_safety"] = retry_safety;
  json["hint"] = error->hint.empty() ? Json(nullptr) : Json(redact(error->hint));
  return json;
}

}  // namespace sshx
