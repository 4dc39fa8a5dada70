#include "core/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/pattern.h"
#include "core/redact.h"
#include "core/text.h"

namespace sshx {
namespace {

/// Beyond 2^53 a double no longer holds every integer (RFC 8259 §6).
constexpr double kLargestExact = 9007199254740992.0;
constexpr std::size_t kQuoted = 64;

Error refused(const Property& property, std::string_view code, std::string_view why) {
  return config_error(std::string(code), fmt::format("{} {}", property_label(property), why));
}

/// A value as messages show it: short, without secrets, and safe for a terminal.
std::string shown(std::string_view value) {
  return "'" + printable(redact(value.substr(0, kQuoted))) +
         (value.size() > kQuoted ? "...'" : "'");
}

/// As JSON Schema counts.
long long length_of(std::string_view text) { return static_cast<long long>(character_count(text)); }

std::string_view type_name(PropertyType type) noexcept {
  switch (type) {
  case PropertyType::string: return "a string";
  case PropertyType::integer: return "an integer";
  case PropertyType::number: return "a number";
  case PropertyType::boolean: return "true or false";
  case PropertyType::string_list: return "a list of strings";
  }
  return "";
}

Error missing(const Property& property) {
  auto error = refused(property, "required", "is required");
  if (!property.choices.empty())
    error.hint = fmt::format("one of {}", fmt::join(property.choices, ", "));
  return error;
}

Error wrong_type(const Property& property, const Json& value) {
  return refused(property, "type",
                 fmt::format("must be {}, not {}", type_name(property.type), value.type_name()));
}

Status check_length(const Property& property, std::string_view text) {
  const long long length = length_of(text);
  if (length < property.min_length.value_or(0)) {
    if (text.empty()) return refused(property, "range", "must not be empty");
    return refused(
        property, "range",
        fmt::format("must have at least {} characters, not {}", *property.min_length, length));
  }
  if (property.max_length && length > *property.max_length) {
    return refused(
        property, "range",
        fmt::format("must have at most {} characters, not {}", *property.max_length, length));
  }
  return {};
}

Status check_choice(const Property& property, std::string_view text) {
  if (property.choices.empty()) return {};
  if (std::ranges::find(property.choices, text) != property.choices.end()) return {};
  const auto why =
      fmt::format("must be one of {}, not {}", fmt::join(property.choices, ", "), shown(text));
  auto error = refused(property, "range", why);
  const std::vector<std::string> choices(property.choices.begin(), property.choices.end());
  if (const auto near = nearest(text, choices)) error.hint = fmt::format("did you mean {}?", *near);
  return error;
}

/// One text: a string property, or an item of a list.
Status check_text(const Property& property, std::string_view text) {
  SSHX_CHECK(check_length(property, text));
  SSHX_CHECK(check_choice(property, text));
  // No argument and no path can hold one, and whatever follows it would be cut off unseen.
  if (property.placement != Placement::none && text.find('\0') != std::string_view::npos) {
    return refused(property, "pattern", "must not hold a NUL character");
  }
  if (!property.pattern.empty() && !fits_pattern(property.pattern, text)) {
    return refused(property, "pattern",
                   fmt::format("must match {}, not {}", property.pattern, shown(text)));
  }
  return {};
}

Status check_range(const Property& property, double value) {
  const bool low = property.minimum && value < *property.minimum;
  const bool high = property.maximum && value > *property.maximum;
  if (!low && !high) return {};
  if (property.minimum && property.maximum) {
    return refused(
        property, "range",
        fmt::format("must be from {} to {}, not {}", *property.minimum, *property.maximum, value));
  }
  return refused(property, "range",
                 low ? fmt::format("must be at least {}, not {}", *property.minimum, value)
                     : fmt::format("must be at most {}, not {}", *property.maximum, value));
}

Result<Json> checked_string(const Property& property, const Json& value) {
  if (!value.is_string()) return wrong_type(property, value);
  SSHX_CHECK(check_text(property, value.get_ref<const std::string&>()));
  return value;
}

bool is_whole(double number) {
  return std::trunc(number) == number && std::abs(number) <= kLargestExact;
}

Result<Json> checked_number(const Property& property, const Json& value) {
  if (!value.is_number()) return wrong_type(property, value);
  const auto number = value.get<double>();
  SSHX_CHECK(check_range(property, number));
  if (is_whole(number)) return Json(static_cast<long long>(number));
  return Json(number);
}

Result<Json> checked_integer(const Property& property, const Json& value) {
  if (!value.is_number()) return wrong_type(property, value);
  const auto number = value.get<double>();
  if (!is_whole(number)) {
    return refused(property, "type", fmt::format("must be an integer, not {}", number));
  }
  SSHX_CHECK(check_range(property, number));
  return Json(static_cast<long long>(number));
}

Result<Json> checked_boolean(const Property& property, const Json& value) {
  if (!value.is_boolean()) return wrong_type(property, value);
  return value;
}

Result<Json> checked_list(const Property& property, const Json& value) {
  if (!value.is_array()) return wrong_type(property, value);
  if (property.max_items && value.size() > static_cast<std::size_t>(*property.max_items)) {
    return refused(property, "range",
                   fmt::format("must have at most {}, not {}",
                               *property.max_items == 1
                                   ? "one item"
                                   : fmt::format("{} items", *property.max_items),
                               value.size()));
  }
  for (const auto& item : value) {
    if (!item.is_string()) {
      return refused(property, "type",
                     fmt::format("must be a list of strings, not of {}", item.type_name()));
    }
    SSHX_CHECK(check_text(property, item.get_ref<const std::string&>()));
  }
  return value;
}

bool exists_on(const Property& property, Surface surface) noexcept {
  return surface == Surface::cli || !property.cli_only;
}

/// The property that was probably meant: the one whose flag this is ("timeout" for
/// timeout_seconds), else the nearest.
std::optional<std::string> suggestion(const Operation& operation, std::string_view name,
                                      Surface surface) {
  std::vector<std::string> names;
  for (const auto& property : operation.properties) {
    if (!exists_on(property, surface)) continue;
    std::string flag(property.flag);
    std::ranges::replace(flag, '-', '_');
    if (!flag.empty() && (flag == name || property.flag == name)) return std::string(property.name);
    names.emplace_back(property.name);
  }
  return nearest(name, names);
}

Error unknown_property(const Operation& operation, std::string_view name, Surface surface) {
  const auto near = suggestion(operation, name, surface);
  return config_error("unknown_property",
                      fmt::format("{} has no property {}", operation.name, shown(name)),
                      near ? fmt::format("did you mean {}?", *near)
                           : fmt::format("see: sshx schema show {}{}", operation.name,
                                         surface == Surface::mcp ? " --surface mcp" : ""));
}

Status check_names(const Operation& operation, const Json& request, Surface surface) {
  for (const auto& entry : request.items()) {
    const auto* property = find_property(operation, entry.key());
    if (property == nullptr || !exists_on(*property, surface)) {
      return unknown_property(operation, entry.key(), surface);
    }
  }
  return {};
}

}  // namespace

Result<Json> check_request(const Operation& operation, const Json& request, Surface surface) {
  if (!request.is_object()) {
    return config_error("type", fmt::format("the request of {} must be an object, not {}",
                                            operation.name, request.type_name()));
  }
  SSHX_CHECK(check_names(operation, request, surface));
  Json checked = Json::object();
  for (const auto& declared : operation.properties) {
    const auto property = on_surface(declared, surface);
    const std::string name(property.name);
    if (const auto found = request.find(name); found != request.end()) {
      SSHX_TRY(checked[name], check_property(property, *found));
    } else if (property.required) {
      return missing(property);
    } else if (!property.default_json.empty() && exists_on(property, surface)) {
      SSHX_TRY(checked[name], parse_json(property.default_json, "a default"));
    }
  }
  return checked;
}

Result<Json> check_property(const Property& property, const Json& value) {
  switch (property.type) {
  case PropertyType::string: return checked_string(property, value);
  case PropertyType::integer: return checked_integer(property, value);
  case PropertyType::number: return checked_number(property, value);
  case PropertyType::boolean: return checked_boolean(property, value);
  case PropertyType::string_list: return checked_list(property, value);
  }
  return wrong_type(property, value);
}

Property on_surface(Property property, Surface surface) noexcept {
  if (surface == Surface::cli) return property;
  if (!property.mcp_default_json.empty()) property.default_json = property.mcp_default_json;
  if (property.mcp_maximum) property.maximum = property.mcp_maximum;
  return property;
}

std::string property_label(const Property& property) {
  switch (property.placement) {
  case Placement::flag: return fmt::format("{} (--{})", property.name, property.flag);
  case Placement::positional: return fmt::format("{} ({})", property.name, property.value_name);
  case Placement::rest: return fmt::format("{} (after --)", property.name);
  case Placement::none: break;
  }
  return std::string(property.name);
}

const Property* find_property(const Operation& operation, std::string_view name) noexcept {
  const auto found = std::ranges::find(operation.properties, name, &Property::name);
  return found == operation.properties.end() ? nullptr : &*found;
}

}  // namespace sshx
