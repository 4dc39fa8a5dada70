#include "cli/application.h"

#include <fmt/format.h>

#include <exception>

#include "cli/audit_command.h"
#include "cli/help.h"
#include "cli/host_command.h"
#include "cli/mcp_command.h"
#include "cli/options.h"
#include "cli/run_command.h"
#include "cli/schema_command.h"
#include "cli/secret_command.h"
#include "cli/terminal.h"
#include "cli/version_command.h"
#include "core/error_json.h"
#include "core/parent_death.h"
#include "core/utf8.h"

namespace sshx::cli {
namespace {

constexpr int kFailure = 255;

Result<int> dispatch(const Invocation& invocation, Terminal& terminal) {
  const auto name = invocation.operation->name;
  if (name == "run") return run_run_command(invocation, terminal);
  if (name.starts_with("host.")) return run_host_command(invocation, terminal);
  if (name.starts_with("audit.")) return run_audit_command(invocation, terminal);
  if (name.starts_with("secret.")) return run_secret_command(invocation, terminal);
  if (name.starts_with("mcp.")) return run_mcp_command(invocation, terminal);
  return run_schema_command(invocation, terminal);
}

Result<int> answer(const Invocation& invocation, Terminal& terminal) {
  switch (invocation.action) {
  case Action::version: return run_version_command(invocation, terminal);
  case Action::help: {
    SSHX_CHECK(terminal.out(help_text(invocation)));
    return 0;
  }
  case Action::run_operation: break;
  }
  // Before the request is read, which may wait for a parent that is about to end.
  if (invocation.presentation.die_with_parent) die_with_parent();
  SSHX_TRY(const auto complete, complete_request(invocation));
  return dispatch(complete, terminal);
}

Json error_document(std::span<const std::string> arguments, const Error& error) {
  const auto* operation = operation_of(arguments);
  return {{"schema_version", "sshx.error.v1"},
          {"success", false},
          {"operation", operation != nullptr ? Json(operation->name) : Json(nullptr)},
          {"exit_code", -1},
          {"error", error_json(&error, kNothingRan)},
          {"error_kind", to_string(error.kind)}};
}

/// A refused request: the document in JSON mode, and the words for people on stderr in both.
int refuse(std::span<const std::string> arguments, const Error& error) {
  Terminal terminal(Notes::shown);
  if (wants_json(arguments)) {
    const auto written = terminal.out(dump_json(error_document(arguments, error)) + "\n");
    if (!written) terminal.report(written.error());
  }
  terminal.report(error);
  return kFailure;
}

/// JSON holds text only, so that bytes which are no text could not be shown, checked or kept as
/// they are.
Status check_text(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_utf8(arguments[i])) continue;
    return config_error("type", fmt::format("argument {} is not UTF-8", i + 1),
                        "send other bytes as stdin, with --stdin-file or --stdin");
  }
  return {};
}

Result<int> run(std::span<const std::string> arguments) {
  SSHX_CHECK(prepare_standard_streams());
  // Whoever parses the answer gets nothing else, whatever a library prints.
  if (wants_json(arguments)) {
    SSHX_CHECK(claim_standard_output());
  }
  SSHX_CHECK(check_text(arguments));
  SSHX_TRY(const auto invocation, parse_invocation(arguments));
  Terminal terminal(invocation.presentation.quiet ? Notes::hidden : Notes::shown);
  return answer(invocation, terminal);
}

}  // namespace

int run_application(std::span<const std::string> arguments) {
  try {
    const auto code = run(arguments);
    return code ? *code : refuse(arguments, code.error());
  } catch (const std::exception& bug) {
    return refuse(arguments,
                  {ErrorKind::internal, "exception", std::string("a defect of sshx: ") + bug.what(),
                   "please report it, with the command"});
  }
}

}  // namespace sshx::cli
