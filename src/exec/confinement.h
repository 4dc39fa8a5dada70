#pragma once

#include <string>

#include "core/json.h"
#include "core/result.h"
#include "inventory/reach.h"

namespace sshx::exec {

/// What an operator lets an operation do, whatever its request asks for. Made of options, never of
/// a request; the operations themselves keep to it.
struct Confinement {
  inventory::Reach reach;
  bool read_only = false;  ///< Nothing may be run.
  /// The folder that local files which are sent must lie in, as it was given; empty: none.
  std::string local_root;
  /// Whether a request may name local files only with a local_root: an agent asks.
  bool needs_local_root = false;
};

/// Of checked options `allow_targets`, `allow_groups`, `read_only` and `local_root`; a missing one
/// confines nothing.
[[nodiscard]] Confinement confinement_of(const Json& options);

/// What reading a local file for a request gives: the whole of file `name`, at most `limit` bytes.
/// With a local_root beneath it only, and none of what read_beneath protects. Waits for the disk.
/// Returns: blocked (`no_local_root`), what read_beneath or read_file returns, config (`no_home`).
[[nodiscard]] Result<std::string> read_local_file(const Confinement& confinement,
                                                  const std::string& name, std::size_t limit);

/// Whether `confinement` lets something be run; a dry-run is not asked. Returns: blocked
/// (`read_only`).
[[nodiscard]] Status check_may_run(const Confinement& confinement);

}  // namespace sshx::exec
