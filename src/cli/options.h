#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/result.h"
#include "exec/confinement.h"

namespace sshx::cli {

/// How the answer is given and what evidence is kept; not part of a request (design §2, rule 8).
struct Presentation {
  bool json = false;    ///< One document.
  bool jsonl = false;   ///< A document for each event, a line each.
  bool stream = false;  ///< Events of output, too.
  bool quiet = false;
  bool gather = false;                ///< Output of several targets at the end, the same once.
  bool safe_output = false;           ///< Control bytes of a command's output made visible.
  bool die_with_parent = false;       ///< The end of the calling process cancels.
  std::string audit = "best-effort";  ///< best-effort, required or off.
  std::string audit_db;               ///< Empty: the default store.
  Surface surface = Surface::cli;     ///< For whom the request is checked.
  exec::Confinement confinement;      ///< What the operator lets be done.

  /// Whether stdout belongs to documents.
  [[nodiscard]] bool for_machines() const noexcept { return json || jsonl; }
};

enum class Action : std::uint8_t { run_operation, help, version };

/// What a command line asks for.
struct Invocation {
  Action action = Action::run_operation;
  /// Never null for run_operation. For help: null for the general page, or for a group such as
  /// `host`.
  const Operation* operation = nullptr;
  /// For help: "", the first words of operations ("host"), or an operation's name ("host.add").
  std::string topic;
  /// As given on the command line, not checked; `complete_request` checks it.
  Json request = Json::object();
  /// --request: the file that the request is in, "-" for stdin.
  std::optional<std::string> request_source;
  Presentation presentation;
};

/// Reads the arguments after the program's name. Options stand before or after other words, up to
/// `--`; the words after `--` become `command`. `--flag VALUE` and `--flag=VALUE` are the same; a
/// value that begins with a dash needs the second form. A list's flag repeats or, where the
/// descriptor allows, takes commas. With `--surface mcp` no option may relax the evidence. Pure: no
/// I/O. Returns: config (`usage`, `unknown_option`,
/// `unknown_command`, `request_conflict`, `type`, `duration`, `size`), with the nearest name as the
/// hint.
[[nodiscard]] Result<Invocation> parse_invocation(std::span<const std::string> arguments);

/// The invocation with its request read from --request where that is given, checked for its
/// surface, and defaults filled in. Waits for the file or for the end of stdin. Returns: what
/// check_request returns; config (`json`, `request_conflict`), local_io.
[[nodiscard]] Result<Invocation> complete_request(Invocation invocation);

/// Whether the answer must be JSON even when the arguments cannot be parsed: `--json` or `--jsonl`
/// stands before `--`.
[[nodiscard]] bool wants_json(std::span<const std::string> arguments);

/// The operation that the words name, even when the rest cannot be parsed; null when they name
/// none.
[[nodiscard]] const Operation* operation_of(std::span<const std::string> arguments);

}  // namespace sshx::cli
