#pragma once

#include "core/json.h"
#include "exec/result.h"

namespace sshx::exec {

/// The `started` record of sshx.audit.record.v1, made before the first packet. The command is
/// redacted; its exact bytes are there as a digest only. `entry`: how sshx was called.
[[nodiscard]] Json started_record(const ExecutionResult& planned, std::string_view entry);

/// The `finished` record: outcome and evidence, without any output.
[[nodiscard]] Json finished_record(const ExecutionResult& result);

}  // namespace sshx::exec
