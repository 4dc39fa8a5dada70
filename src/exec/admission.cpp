#include "exec/admission.h"

#include <fmt/format.h>

#include "core/redact.h"

namespace sshx::exec {
namespace {

Status refuse_expected_plan(const Json& request) {
  if (!request.contains("expect_plan")) return {};
  return config_error(
      "not_supported",
      "expect_plan (--expect-plan): this version cannot bind a run to a reviewed plan yet",
      "remove it, and compare the plan_hash of --dry-run with the one in the result");
}

}  // namespace

Result<std::optional<Bypass>> read_admission(const Json& request) {
  SSHX_CHECK(refuse_expected_plan(request));
  Bypass bypass;
  bypass.force = request.value("force", false);
  bypass.no_safety_check = request.value("no_safety_check", false);
  bypass.reason = redact(request.value("bypass_reason", std::string()));
  const bool asked = bypass.force || bypass.no_safety_check;
  if (asked && !request.contains("bypass_reason")) {
    return config_error(
        "required",
        fmt::format("bypass_reason (--bypass-reason) is required with {}",
                    bypass.force ? "force (--force)" : "no_safety_check (--no-safety-check)"),
        "say why: --bypass-reason TEXT; it is kept in the evidence");
  }
  if (!asked && request.contains("bypass_reason")) {
    return config_error("request_conflict",
                        "bypass_reason (--bypass-reason) is given, and nothing to bypass",
                        "give --force or --no-safety-check with it, or leave it out");
  }
  if (!asked) return std::optional<Bypass>();
  return std::optional<Bypass>(std::move(bypass));
}

Json bypass_json(const std::optional<Bypass>& bypass) {
  if (!bypass) return nullptr;
  return {{"force", bypass->force},
          {"no_safety_check", bypass->no_safety_check},
          {"reason", bypass->reason}};
}

}  // namespace sshx::exec
