#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/safe_output.h"

namespace sshx::exec {

/// What one target printed, and how it ended.
struct TargetOutput {
  std::string name;
  std::string standard_output;
  std::string standard_error;
  /// In people's words: "exit 0", "connect/refused". Words that name the target keep it in a group
  /// of its own.
  std::string outcome;
};

/// Targets that printed the same and ended alike: `sample` is one of them.
struct TargetGroup {
  std::vector<std::string_view> names;  ///< In their natural order: web-2 before web-10.
  const TargetOutput* sample;
};

/// Groups targets whose stdout, stderr and outcome are the same byte for byte. The largest group
/// comes first, of those of one size the one with the first name, in whatever order the targets
/// come. Refers to `targets`, whose names are all different.
[[nodiscard]] std::vector<TargetGroup> gather(std::span<const TargetOutput> targets);

/// "--- web-[1-3,7] (4): exit 0", then what each of them printed to stdout; what came on stderr
/// stands below "--- web-[1-3,7] (4), stderr". A newline is added where the output ends without
/// one.
[[nodiscard]] std::string group_text(const TargetGroup& group, ControlBytes control_bytes);

}  // namespace sshx::exec
