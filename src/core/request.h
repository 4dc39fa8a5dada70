#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/json.h"

namespace sshx {

/// Checks `request` against the operation's descriptor: object, known properties for this surface,
/// types, ranges, lengths, patterns, enums, required ones, with what holds on it. Gives back the
/// request with defaults filled in, properties in the descriptor's order and whole numbers as
/// integers, so that 30 and 30.0 are one request, as in JSON Schema. Rules across properties are
/// the operation's own. Waits for nothing. Returns: config (`unknown_property`, `type`, `range`,
/// `required`, `pattern`), naming the property and its flag.
[[nodiscard]] Result<Json> check_request(const Operation& operation, const Json& request,
                                         Surface surface);

/// The same for the value of one property. Gives back the value. Returns: config (`type`, `range`,
/// `pattern`).
[[nodiscard]] Result<Json> check_property(const Property& property, const Json& value);

/// The property as it holds on `surface`: with the default and the maximum that agents have there.
[[nodiscard]] Property on_surface(Property property, Surface surface) noexcept;

/// How messages name a property: "timeout_seconds (--timeout)", "name (NAME)", "command (after
/// --)", "stdin".
[[nodiscard]] std::string property_label(const Property& property);

/// The property of that name; null when the operation has none.
[[nodiscard]] const Property* find_property(const Operation& operation,
                                            std::string_view name) noexcept;

}  // namespace sshx
