#include "cli/version_command.h"

#include <fmt/format.h>

#include "core/build_info.h"
#include "exec/versions.h"

namespace sshx::cli {
namespace {

std::string build_type() {
  if (build_info::kSanitizers.empty()) return std::string(build_info::kBuildType);
  return fmt::format("{} with {} sanitizers", build_info::kBuildType, build_info::kSanitizers);
}

Json version_document() {
  Json libssh2 = Json::object();
  libssh2["version"] = exec::libssh2_version_text();
  libssh2["origin"] = build_info::kLibssh2Origin;
  Json document = Json::object();
  document["schema_version"] = "sshx.version.v1";
  document["success"] = true;
  document["version"] = build_info::kVersion;
  document["build_type"] = build_type();
  document["commit"] = build_info::kCommit.empty() ? Json(nullptr) : Json(build_info::kCommit);
  document["libssh2"] = std::move(libssh2);
  document["openssl"] = exec::crypto_version_text();
  return document;
}

}  // namespace

Result<int> run_version_command(const Invocation& invocation, Terminal& terminal) {
  SSHX_CHECK(terminal.out(invocation.presentation.json
                              ? dump_json(version_document()) + "\n"
                              : fmt::format("sshx {}\n", build_info::kVersion)));
  return 0;
}

}  // namespace sshx::cli
