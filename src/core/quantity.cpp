#include "core/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/text.h"
#include "core/utf8.h"

namespace sshx {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};

// From large to small, and "m" after "ms" cannot happen because whole names are compared.
constexpr std::array<Unit, 5> kUnits{
    {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 0.001}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes a decimal number without sign or exponent; from_chars knows no locale, so the point is
/// always ".".
std::optional<double> take_decimal(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_unit(std::string_view& text) {
  const auto* const end = std::find_if(text.begin(), text.end(), is_digit);
  const auto name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

std::optional<double> seconds_of(std::string_view text) {
  const auto first = take_decimal(text);
  if (!first) return std::nullopt;
  if (text.empty()) return first;
  double total = 0;
  auto amount = first;
  const auto* unit = kUnits.begin();
  while (true) {
    const auto name = take_unit(text);
    unit = std::find_if(unit, kUnits.end(), [&](const Unit& row) { return row.name == name; });
    if (!amount || unit == kUnits.end()) return std::nullopt;
    total += *amount * unit->seconds;
    if (text.empty()) return total;
    ++unit;
    amount = take_decimal(text);
  }
}

std::optional<long long> multiplier_of(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit == "k" || unit == "kib") return 1LL << 10U;
  if (unit == "m" || unit == "mib") return 1LL << 20U;
  if (unit == "g" || unit == "gib") return 1LL << 30U;
  return std::nullopt;
}

std::optional<long long> bytes_of(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  long long amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc()) return std::nullopt;
  const auto multiplier =
      multiplier_of(lower_ascii(text.substr(static_cast<std::size_t>(end - text.data()))));
  if (!multiplier || amount > std::numeric_limits<long long>::max() / *multiplier)
    return std::nullopt;
  return amount * *multiplier;
}

}  // namespace

Result<double> parse_duration(std::string_view text) {
  if (const auto seconds = seconds_of(text)) return *seconds;
  return config_error("duration", fmt::format("\"{}\" is not a duration", printable(text)),
                      "write seconds, or units from large to small: 30s, 2m, 1h30m, 250ms");
}

Result<long long> parse_size(std::string_view text) {
  if (const auto bytes = bytes_of(text)) return *bytes;
  return config_error("size", fmt::format("\"{}\" is not a size", printable(text)),
                      "write bytes, or powers of 1024 with K, M or G: 512, 10K, 1MiB");
}

}  // namespace sshx
