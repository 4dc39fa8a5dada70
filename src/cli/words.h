#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace sshx::cli {

/// A command line with the words that name the operation found and taken out.
struct Words {
  const Operation* operation = nullptr;  ///< Null when none is named.
  std::string path;  ///< The words that were taken, joined by dots: "host", "host.add".
  std::vector<std::string>
      arguments;  ///< What else stands before `--`; `--flag=` is two, the second empty.
  std::vector<std::string> command;  ///< What stands after `--`.
  bool help = false;                 ///< --help or -h stands before `--`.
  bool version = false;              ///< --version or -V stands before `--`.
  /// The first fault: config (`usage`, `unknown_command`). The rest is filled in as far as it goes.
  std::optional<Error> problem;
};

/// Finds the operation among the words, whatever options stand between them. `--host-add` and the
/// like are spellings of `host add`, `--host-add=NAME` of `host add NAME`; `schema` alone is
/// `schema list`, `mcp` alone `mcp serve`.
[[nodiscard]] Words find_words(std::span<const std::string> arguments);

/// The operation that a group's word alone stands for; null when it stands for none.
[[nodiscard]] const Operation* group_default(std::string_view group);

/// The words that may follow `path` ("" for the first), each once: "add", "list" ... after "host".
[[nodiscard]] std::vector<std::string> next_words(std::string_view path);

/// "host add" from "host.add".
[[nodiscard]] std::string spaced(std::string_view path);

}  // namespace sshx::cli
