#include "core/wall_time.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "core/quantity.h"
#include "core/utf8.h"

namespace sshx {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::year_month_day;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes exactly `count` digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_one_of(std::string_view& text, std::string_view choices) {
  if (text.empty() || choices.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take_one_of(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take_one_of(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const year_month_day date{std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

/// Takes "HH:MM"; for a time of day and for an offset alike.
std::optional<minutes> take_hour_minute(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take_one_of(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  return hours(*hour) + minutes(*minute);
}

/// Takes ".digits" where there are some; beyond microseconds they are cut off.
std::optional<microseconds> take_fraction(std::string_view& text) {
  if (!take_one_of(text, ".")) return microseconds(0);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  microseconds fraction(0);
  for (microseconds unit(100'000); !text.empty() && is_digit(text.front()); unit /= 10) {
    fraction += unit * (text.front() - '0');
    text.remove_prefix(1);
  }
  return fraction;
}

std::optional<minutes> take_offset(std::string_view& text) {
  if (take_one_of(text, "Zz")) return minutes(0);
  const bool west = text.starts_with('-');
  if (!take_one_of(text, "+-")) return std::nullopt;
  const auto offset = take_hour_minute(text);
  if (!offset) return std::nullopt;
  return west ? -*offset : *offset;
}

/// "T01:02:03.004Z" after the date (RFC 3339 §5.6); a leap second counts as the next minute's
/// first.
std::optional<microseconds> take_time_of_day(std::string_view& text) {
  if (!take_one_of(text, "Tt ")) return std::nullopt;
  const auto hour_minute = take_hour_minute(text);
  if (!hour_minute || !take_one_of(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset) return std::nullopt;
  return *hour_minute - *offset + seconds(*second) + *fraction;
}

/// The nearest point that the clock can hold: its nanoseconds end in the year 2262.
WallTime clamped(std::chrono::sys_days date, microseconds time) {
  if (date >= std::chrono::floor<days>(WallTime::max())) return WallTime::max();
  if (date <= std::chrono::ceil<days>(WallTime::min())) return WallTime::min();
  return date + time;
}

std::optional<WallTime> parse_timestamp(std::string_view text) {
  const auto date = take_date(text);
  if (!date) return std::nullopt;
  if (text.empty()) return clamped(*date, microseconds(0));
  const auto time = take_time_of_day(text);
  if (!time || !text.empty()) return std::nullopt;
  return clamped(*date, *time);
}

/// An age has a unit: a bare number would be taken for a year or a Unix time by many.
std::optional<WallTime> parse_age(std::string_view text, WallTime now) {
  if (text.empty() || is_digit(text.back())) return std::nullopt;
  const auto age = parse_duration(text);
  constexpr double kMaxAgeSeconds = 1e9;
  if (!age || *age > kMaxAgeSeconds) return std::nullopt;
  return now - std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*age));
}

}  // namespace

std::string rfc3339(WallTime time) {
  const auto whole = std::chrono::floor<milliseconds>(time);
  const auto day = std::chrono::floor<days>(whole);
  const year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<WallTime> parse_time(std::string_view text, WallTime now) {
  if (const auto time = parse_timestamp(text)) return *time;
  if (const auto time = parse_age(text, now)) return *time;
  return config_error("time", fmt::format("\"{}\" is not a time", printable(text)),
                      "write 2026-12-01T01:02:03Z, 2026-12-01, or an age such as 90m, 2h or 7d");
}

}  // namespace sshx
