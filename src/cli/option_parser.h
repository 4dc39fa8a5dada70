#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace sshx::cli {

/// Arguments taken apart, nothing judged yet.
struct ParsedOptions {
  /// By flag without dashes: the values in the order given; "true" once for each time that a
  /// boolean is given.
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  /// Words and unknown options, in the order given.
  std::vector<std::string> rest;
};

/// Takes apart what stands before `--`, the operation's words removed. The only place that knows
/// CLI11, whose messages and exit codes stay here. Returns: config (`usage`).
[[nodiscard]] Result<ParsedOptions> parse_options(const Operation& operation,
                                                  const std::vector<std::string>& arguments);

}  // namespace sshx::cli
