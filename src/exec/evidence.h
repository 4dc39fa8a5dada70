#pragma once

#include <optional>

#include "exec/result.h"
#include "exec/run.h"

namespace sshx::exec {

/// The record of a start, to be kept before anything else is done.
[[nodiscard]] Json start_of(const ExecutionResult& planned, const RunOptions& options);

/// Notes in `planned` what became of the record of its start (`kept`); with evidence off there was
/// none. Gives back the fault that forbids to go on: with AuditMode::required nothing runs unless
/// the record was kept.
[[nodiscard]] Status note_started(ExecutionResult& planned, const RunOptions& options, Status kept);

/// Notes in a finalised result that its end is not in the evidence, where `kept` says so.
void note_finished(ExecutionResult& result, const Status& kept);

/// Keeps the *started* record of `planned`; what it gives back is that of note_started.
[[nodiscard]] Status keep_started(ExecutionResult& planned, const RunOptions& options);

/// Keeps the *finished* record of a finalised result whose start was kept.
void keep_finished(ExecutionResult& result, const RunOptions& options);

}  // namespace sshx::exec
