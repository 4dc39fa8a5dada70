#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/utf8.h"

namespace sshx {
namespace {

using Members = Json::object_t::Container;

/// Builds the value from the parser's events. nlohmann's own builder keeps the last of two equal
/// keys and recurses without bound; both would let two readers of one document disagree.
class Builder {
 public:
  bool null() { return add(nullptr); }

  bool boolean(bool value) { return add(value); }

  bool number_integer(Json::number_integer_t value) { return add(value); }

  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }

  bool number_float(Json::number_float_t value, const std::string& /*text*/) { return add(value); }

  bool string(std::string& value) { return add(std::move(value)); }

  static bool binary(Json::binary_t& /*value*/) { return false; }

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }

  bool start_array(std::size_t /*size*/) { return open(Json::array()); }

  bool end_object() { return close(); }

  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) {
      return refuse(fmt::format("duplicate key \"{}\"", printable(place_of(name))));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    position_ = position;
    return refuse("not valid JSON" + context_of(error.what()));
  }

  [[nodiscard]] Json take() { return std::move(root_); }

  [[nodiscard]] const std::string& why() const { return why_; }

  /// Bytes read when the syntax broke; nothing where the syntax is not what is wrong.
  [[nodiscard]] std::optional<std::size_t> position() const { return position_; }

 private:
  struct Level {
    Json* value;
    std::string name;
    std::unordered_set<std::string> keys;
  };

  [[nodiscard]] std::string place_of(std::string_view name) const {
    std::string place;
    for (const auto& level : open_) {
      if (!level.name.empty()) place += level.name + ".";
    }
    return place.append(name);
  }

  // The parser's text quotes what it last read, which may be a secret: only the part before that is
  // kept.
  static std::string context_of(std::string_view text) {
    const auto from = text.find("while parsing ");
    if (from == std::string_view::npos) return {};
    const auto to = text.find(" - ", from);
    if (to == std::string_view::npos) return {};
    return fmt::format(" ({})", text.substr(from, to - from));
  }

  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    // Straight into the vector below the ordered map: its own insertion searches all keys each
    // time.
    Members& members = parent.get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(key_), std::move(value)).second;
  }

  template <class T>
  bool add(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kMaxJsonDepth) {
      return refuse(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
    auto name = open_.empty() || open_.back().value->is_array() ? std::string() : key_;
    open_.push_back({place(std::move(value)), std::move(name), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Level> open_;
  std::string key_;
  std::string why_;
  std::optional<std::size_t> position_;
};

std::string line_and_column(std::string_view text, std::size_t position) {
  const auto before = text.substr(0, std::min(position > 0 ? position - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const auto column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return fmt::format("line {}, column {}", line, column);
}

Error json_error(std::string_view what, std::string_view text, std::optional<std::size_t> position,
                 std::string_view why) {
  if (!position) return config_error("json", fmt::format("{}: {}", what, why));
  return config_error("json",
                      fmt::format("{}: {}: {}", what, line_and_column(text, *position), why));
}

/// The shortest decimal digits that read back as the number, and the power of ten of the first one.
struct Decimal {
  std::string digits;
  int exponent;
};

Decimal shortest_decimal(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const auto mark = text.find('e');
  Decimal result{{}, 0};
  for (const char c : text.substr(0, mark)) {
    if (c != '.') result.digits.push_back(c);
  }
  auto power = text.substr(mark + 1);
  if (power.front() == '+') power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), result.exponent);
  return result;
}

/// ECMAScript Number::toString (ECMA-262 §6.1.6.1.20), as RFC 8785 §3.2.2.3 asks.
std::string ecmascript_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return "0";
  if (value < 0) return "-" + ecmascript_number(-value);
  const auto [digits, exponent] = shortest_decimal(value);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;
  if (count <= point && point <= 21)
    return digits + std::string(static_cast<std::size_t>(point - count), '0');
  if (0 < point && point <= 21) {
    const auto whole = static_cast<std::size_t>(point);
    return fmt::format("{}.{}", digits.substr(0, whole), digits.substr(whole));
  }
  if (-6 < point && point <= 0) {
    return fmt::format("0.{}{}", std::string(static_cast<std::size_t>(-point), '0'), digits);
  }
  const auto rest = count > 1 ? "." + digits.substr(1) : std::string();
  return fmt::format("{}{}e{}{}", digits.front(), rest, exponent < 0 ? '-' : '+',
                     std::abs(exponent));
}

/// Where a byte stands in UTF-16 code unit order. It differs from UTF-8 order in one point:
/// U+E000..U+FFFF (lead bytes 0xEE and 0xEF) come after everything that needs surrogates (lead
/// bytes from 0xF0).
int utf16_rank(char c) {
  const int byte = static_cast<unsigned char>(c);
  return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
}

bool utf16_less(const std::string& a, const std::string& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return utf16_rank(x) < utf16_rank(y); });
}

void append_canonical(std::string& out, const Json& value);

void append_canonical_object(std::string& out, const Json& value) {
  std::vector<const Members::value_type*> members;
  for (const auto& member : value.get_ref<const Json::object_t&>()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return utf16_less(a->first, b->first); });
  out += '{';
  for (const auto* member : members) {
    if (out.back() != '{') out += ',';
    out += dump_json(member->first);
    out += ':';
    append_canonical(out, member->second);
  }
  out += '}';
}

void append_canonical_array(std::string& out, const Json& value) {
  out += '[';
  bool first = true;
  for (const auto& item : value) {
    if (!std::exchange(first, false)) out += ',';
    append_canonical(out, item);
  }
  out += ']';
}

void append_canonical(std::string& out, const Json& value) {
  if (value.is_object()) return append_canonical_object(out, value);
  if (value.is_array()) return append_canonical_array(out, value);
  if (value.is_number()) {
    out += ecmascript_number(value.get<double>());
    return;
  }
  // nlohmann escapes strings exactly as RFC 8785 §3.2.2.2 does.
  out += dump_json(value);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  // The parser takes a NUL for the end of its input and would not look at what follows.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return json_error(what, text, nul + 1, "not valid JSON (a NUL byte)");
  }
  Builder builder;
  if (!Json::sax_parse(text, &builder)) {
    return json_error(what, text, builder.position(), builder.why());
  }
  return builder.take();
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string pretty_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string canonical_json(const Json& value) {
  std::string out;
  append_canonical(out, value);
  return out;
}

}  // namespace sshx
