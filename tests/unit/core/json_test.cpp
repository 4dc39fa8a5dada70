#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/json.h"

namespace sshx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(std::string_view text) {
  const auto value = parse_json(text, "request");
  if (value) return "no error: " + dump_json(*value);
  EXPECT_EQ(value.error().kind, ErrorKind::config);
  EXPECT_EQ(value.error().code, "json");
  return value.error().message;
}

TEST(ParseJson, KeepsTheOrderOfKeysAndAllTypes) {
  const auto value = parse_json(
      R"({"z":1,"a":[true,null,-2,1.5,"x",{}],"m":{"k":18446744073709551615}})", "request");
  ASSERT_TRUE(value);
  EXPECT_EQ(dump_json(*value),
            R"({"z":1,"a":[true,null,-2,1.5,"x",{}],"m":{"k":18446744073709551615}})");
}

TEST(ParseJson, ReadsScalarsAsDocuments) {
  EXPECT_EQ(parse_json(" \"a\" ", "x").value(), Json("a"));
  EXPECT_EQ(parse_json("null", "x").value(), Json(nullptr));
}

TEST(ParseJson, NamesSourceLineAndColumnOfASyntaxError) {
  EXPECT_THAT(error_of("{\n  \"a\": 1,\n  oops\n}"),
              HasSubstr("request: line 3, column 3: not valid JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("request: line 1, column 1: not valid JSON"));
}

TEST(ParseJson, RefusesWhatFollowsTheValue) {
  EXPECT_THAT(error_of("{} {}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(std::string_view("{}\0{}", 5)),
              HasSubstr("column 3: not valid JSON (a NUL byte)"));
}

TEST(ParseJson, RefusesDuplicateKeysWithTheirPlace) {
  EXPECT_EQ(error_of(R"({"hosts":{"web":{"port":1,"port":2}}})"),
            "request: duplicate key \"hosts.web.port\"");
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":2}])", "x"));
}

TEST(ParseJson, RefusesNestingBeyondTheLimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth), "x"));
  EXPECT_THAT(error_of(nested(kMaxJsonDepth + 1)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper"));
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"{'a':1}", "[1,]", "{\"a\":1,}", "nan", "Infinity", "01",
                                      "1e999", "\"\xff\"", "\"\\ud800\"", "// c\n1"}) {
    EXPECT_THAT(error_of(text), HasSubstr("not valid JSON")) << text;
  }
}

// B161: what was read last may be a secret.
TEST(ParseJson, NeverQuotesValues) {
  EXPECT_THAT(error_of(R"({"stdin": "canary-secret" "x"})"), Not(HasSubstr("canary")));
  EXPECT_THAT(error_of(R"({"stdin": canary-secret})"), Not(HasSubstr("canary")));
  EXPECT_THAT(error_of("{\"stdin\": \"canary - expected\x01\"}"), Not(HasSubstr("canary")));
}

TEST(ParseJson, ReadsManyKeysInReasonableTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key" + std::to_string(i) + "\":1,";
  text.back() = '}';
  EXPECT_EQ(parse_json(text, "x").value().size(), 200'000U);
}

TEST(DumpJson, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(dump_json(Json("a\xff"
                           "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(PrettyJson, IndentsByTwoAndEndsTheLine) {
  EXPECT_EQ(pretty_json(Json{{"a", Json::array({1})}}), "{\n  \"a\": [\n    1\n  ]\n}\n");
}

TEST(CanonicalJson, SortsKeysAtEveryLevelAndKeepsArrays) {
  const auto value = parse_json(R"({"b":[3,{"z":1,"y":2}],"a":{"d":null,"c":false}})", "x");
  EXPECT_EQ(canonical_json(*value), R"({"a":{"c":false,"d":null},"b":[3,{"y":2,"z":1}]})");
  EXPECT_EQ(canonical_json(Json::object()), "{}");
  EXPECT_EQ(canonical_json(Json::array()), "[]");
}

// RFC 8785 §3.2.3: the example's order is by UTF-16 code units, in which the emoji stands before
// U+FB33.
TEST(CanonicalJson, SortsByUtf16CodeUnits) {
  const auto value = parse_json(
      R"({"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Emoji",)"
      R"("\u0080":"Control","\u00f6":"o"})",
      "x");
  ASSERT_TRUE(value);
  EXPECT_EQ(
      canonical_json(*value),
      "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\",\"\xC3\xB6\":\"o\","
      "\"\xE2\x82\xAC\":\"Euro Sign\",\"\xF0\x9F\x98\x80\":\"Emoji\",\"\xEF\xAC\xB3\":\"Hebrew\"}");
  EXPECT_EQ(canonical_json(Json{{"ab", 1}, {"a", 2}, {"", 3}}), R"({"":3,"a":2,"ab":1})");
}

// RFC 8785 §3.2.2.2.
TEST(CanonicalJson, EscapesOnlyWhatMustBe) {
  EXPECT_EQ(canonical_json(Json("\x01\b\t\n\f\r\"\\/\x7f\xE2\x82\xAC")),
            "\"\\u0001\\b\\t\\n\\f\\r\\\"\\\\/\x7f\xE2\x82\xAC\"");
}

// RFC 8785 appendix B, by the numbers' IEEE 754 bits.
TEST(CanonicalJson, WritesNumbersAsEcmascriptDoes) {
  struct Sample {
    std::uint64_t bits;
    std::string_view text;
  };

  constexpr Sample kSamples[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& sample : kSamples) {
    EXPECT_EQ(canonical_json(Json(std::bit_cast<double>(sample.bits))), sample.text);
  }
  EXPECT_EQ(canonical_json(Json(-42)), "-42");
  EXPECT_EQ(canonical_json(Json(100)), "100");
  EXPECT_EQ(canonical_json(Json(22.0)), "22");
  EXPECT_EQ(canonical_json(Json(0.5)), "0.5");
  EXPECT_EQ(canonical_json(Json(9007199254740993LL)), "9007199254740992");
  EXPECT_EQ(canonical_json(Json(std::numeric_limits<double>::infinity())), "null");
}

TEST(CanonicalJson, IsTheSameForEveryOrderOfKeys) {
  EXPECT_EQ(canonical_json(*parse_json(R"({"a":1,"b":{"c":2,"d":3}})", "x")),
            canonical_json(*parse_json(R"({"b":{"d":3.0,"c":2},"a":1.0})", "x")));
}

}  // namespace
}  // namespace sshx
