// RFC 8785: one value has one canonical text, whatever text it was read from.

#include "core/json.h"
#include "fuzz/property.h"

namespace sshx::fuzz {
namespace {

/// Equal as JSON values: members in any order, numbers as the doubles that RFC 8785 makes of them.
bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), same);
  if (!a.is_object()) return a == b;
  return std::all_of(a.items().begin(), a.items().end(), [&](const auto& member) {
    return b.contains(member.key()) && same(member.value(), b[member.key()]);
  });
}

/// The same value with the members of every object in reverse.
Json reversed(const Json& value) {
  if (value.is_array()) {
    Json items = Json::array();
    for (const auto& item : value) items.push_back(reversed(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json members = Json::object();
  for (auto member = value.rbegin(); member != value.rend(); ++member) {
    members[member.key()] = reversed(member.value());
  }
  return members;
}

void check(std::string_view text) {
  const auto value = parse_json(text, "input");
  if (!value) {
    require(value.error().kind == ErrorKind::config && value.error().code == "json",
            "a text that is not JSON is config/json");
    require_presentable(value.error());
    return;
  }
  const auto canonical = canonical_json(*value);
  const auto again = parse_json(canonical, "canonical");
  require(again.has_value(), "canonical text is JSON");
  require(canonical_json(*again) == canonical, "canonical text is its own canonical form");
  require(same(*value, *again), "canonical text means the same");
  require(canonical_json(reversed(*value)) == canonical, "the order of members does not matter");
  require(is_utf8(canonical), "canonical text is UTF-8");
  for (const auto& written : {dump_json(*value), pretty_json(*value)}) {
    const auto read = parse_json(written, "written");
    require(read && *read == *value, "what is written reads back as the same value");
  }
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
