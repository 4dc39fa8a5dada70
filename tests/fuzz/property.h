#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/utf8.h"

// libFuzzer's entry point, which each target defines once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sshx::fuzz {

/// Aborts where a property does not hold: a fuzzer takes that for a crash, as it takes a
/// sanitizer's report, and keeps the input.
inline void require(bool holds, const char* property,
                    std::source_location place = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold: %s\n", place.file_name(), place.line(), property);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Removes the first line, newline included, and gives it without.
inline std::string_view take_line(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// What every error promises: it says something, and nothing in it can play with a terminal.
inline void require_presentable(const Error& error) {
  require(!error.message.empty(), "an error has a message");
  require(printable(error.message) == error.message, "an error's message is plain text");
  require(printable(error.hint) == error.hint, "an error's hint is plain text");
}

}  // namespace sshx::fuzz
