#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sshx {

/// Every JSON value of sshx. Keys keep the order in which they were written, so documents read as
/// designed.
using Json = nlohmann::ordered_json;

/// How deep arrays and objects may lie in each other.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// The value in `text`. Duplicate keys, trailing bytes and nesting beyond kMaxJsonDepth are errors.
/// `what` names the source in messages, which give line and column of a syntax error, the place of
/// a duplicate, and never quote values. Returns: config (`json`).
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// One line of JSON. Bytes that are not UTF-8 become U+FFFD; callers that must not lose bytes
/// encode them first.
[[nodiscard]] std::string dump_json(const Json& value);

/// The same for people: indented by two blanks, with a newline at the end.
[[nodiscard]] std::string pretty_json(const Json& value);

/// RFC 8785 (JSON Canonicalization Scheme): sorted keys by UTF-16 code units, no white space,
/// ECMAScript numbers. Every number is an IEEE double there, so integers beyond 2^53 lose digits:
/// keep those in strings. The form that hashes are made of.
[[nodiscard]] std::string canonical_json(const Json& value);

}  // namespace sshx
