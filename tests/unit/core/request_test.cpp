#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/request.h"

namespace sshx {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 2> kColours{"red", "green"};

Property property(std::string_view name, PropertyType type) {
  Property result{};
  result.name = name;
  result.flag = name;
  result.value_name = "VALUE";
  result.type = type;
  result.placement = Placement::flag;
  return result;
}

/// An operation with one property of every kind of rule.
class CheckRequest : public testing::Test {
 protected:
  CheckRequest() {
    Property word = property("word", PropertyType::string);
    word.required = true;
    word.placement = Placement::positional;
    word.value_name = "WORD";
    word.min_length = 2;
    word.max_length = 4;
    Property colour = property("colour", PropertyType::string);
    colour.choices = kColours;
    colour.default_json = R"("red")";
    Property count = property("count", PropertyType::integer);
    count.minimum = 1;
    count.maximum = 10;
    count.mcp_maximum = 5;
    Property wait = property("wait_seconds", PropertyType::number);
    wait.flag = "wait";
    wait.minimum = 0.5;
    wait.default_json = "60";
    wait.mcp_default_json = "45";
    Property tags = property("tags", PropertyType::string_list);
    tags.flag = "tag";
    tags.pattern = "^[^=]+=.+$";
    tags.max_items = 2;
    Property local = property("local", PropertyType::boolean);
    local.cli_only = true;
    local.default_json = "false";
    Property blob = property("blob", PropertyType::string);
    blob.flag = "";
    blob.placement = Placement::none;
    properties_ = {word, colour, count, wait, tags, local, blob};
    operation_.name = "test.it";
    operation_.properties = properties_;
  }

  Result<Json> check(const std::string& text, Surface surface = Surface::cli) {
    return check_request(operation_, Json::parse(text), surface);
  }

  std::vector<Property> properties_;
  Operation operation_{};
};

TEST_F(CheckRequest, FillsInDefaultsInTheDescriptorsOrder) {
  const auto checked = check(R"({"blob":"b","word":"abc"})");
  ASSERT_TRUE(checked);
  EXPECT_EQ(dump_json(*checked),
            R"({"word":"abc","colour":"red","wait_seconds":60,"local":false,"blob":"b"})");
}

TEST_F(CheckRequest, MakesNumbersOneForm) {
  const auto checked = check(R"({"word":"abc","count":3.0,"wait_seconds":30.0})");
  ASSERT_TRUE(checked);
  EXPECT_EQ((*checked)["count"].dump(), "3");
  EXPECT_EQ((*checked)["wait_seconds"].dump(), "30");
  EXPECT_EQ((*check(R"({"word":"abc","wait_seconds":1.5})"))["wait_seconds"].dump(), "1.5");
}

TEST_F(CheckRequest, LeavesACheckedRequestAsItIs) {
  const auto checked = check(R"({"word":"abc"})");
  ASSERT_TRUE(checked);
  const auto again = check_request(operation_, *checked, Surface::cli);
  ASSERT_TRUE(again);
  EXPECT_EQ(dump_json(*again), dump_json(*checked));
}

TEST_F(CheckRequest, CountsCharactersNotBytes) {
  EXPECT_TRUE(check(R"({"word":"äöüß"})"));
  EXPECT_EQ(check(R"({"word":"äöüßé"})").error().code, "range");
  EXPECT_EQ(check(R"({"word":"ä"})").error().code, "range");
}

TEST_F(CheckRequest, KeepsCommandLinePropertiesFromAgents) {
  EXPECT_TRUE(check(R"({"word":"abc","local":true})"));
  const auto refused = check(R"({"word":"abc","local":true})", Surface::mcp);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "unknown_property");
  EXPECT_EQ(refused.error().hint.find("local"), std::string::npos);
}

TEST_F(CheckRequest, HoldsAgentsToTheirOwnNumbers) {
  const auto checked = check(R"({"word":"abc"})", Surface::mcp);
  ASSERT_TRUE(checked);
  EXPECT_EQ(dump_json(*checked), R"({"word":"abc","colour":"red","wait_seconds":45})");
  EXPECT_EQ((*check(R"({"word":"abc","wait_seconds":60})", Surface::mcp))["wait_seconds"], 60);
  EXPECT_TRUE(check(R"({"word":"abc","count":5})", Surface::mcp));
  const auto beyond = check(R"({"word":"abc","count":6})", Surface::mcp);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("count (--count) must be from 1 to 5, not 6"));
  EXPECT_TRUE(check(R"({"word":"abc","count":6})"));
}

TEST_F(CheckRequest, LeavesACheckedRequestOfAnAgentAsItIs) {
  const auto checked = check(R"({"word":"abc"})", Surface::mcp);
  ASSERT_TRUE(checked);
  const auto again = check_request(operation_, *checked, Surface::mcp);
  ASSERT_TRUE(again);
  EXPECT_EQ(dump_json(*again), dump_json(*checked));
}

TEST_F(CheckRequest, LeavesNulToPayloads) {
  EXPECT_TRUE(check(R"({"word":"abc","blob":"a\u0000b"})"));
  EXPECT_EQ(check(R"({"word":"a\u0000b"})").error().code, "pattern");
}

struct Refusal {
  std::string request;
  std::string code;
  std::string message;
  std::string hint;
};

TEST_F(CheckRequest, NamesPropertyAndFlagOfWhatIsWrong) {
  const std::vector<Refusal> refusals{
      {"[]", "type", "test.it must be an object, not array", ""},
      {"{}", "required", "word (WORD) is required", ""},
      {R"({"word":"abc","wrd":1})", "unknown_property", "'wrd'", "did you mean word?"},
      {R"({"word":"abc","tag":["a=b"]})", "unknown_property", "'tag'", "did you mean tags?"},
      {R"({"word":"abc","wait":1})", "unknown_property", "'wait'", "did you mean wait_seconds?"},
      {R"({"word":"abc","zzzzzzzz":1})", "unknown_property", "'zzzzzzzz'",
       "sshx schema show test.it"},
      {R"({"word":1})", "type", "word (WORD) must be a string, not number", ""},
      {R"({"word":null})", "type", "word (WORD) must be a string, not null", ""},
      {R"({"word":""})", "range", "word (WORD) must not be empty", ""},
      {R"({"word":"abc","colour":"gren"})", "range", "must be one of red, green, not 'gren'",
       "did you mean green?"},
      {R"({"word":"abc","count":0})", "range", "count (--count) must be from 1 to 10, not 0", ""},
      {R"({"word":"abc","count":11})", "range", "count (--count) must be from 1 to 10, not 11", ""},
      {R"({"word":"abc","count":1.5})", "type", "count (--count) must be an integer, not 1.5", ""},
      {R"({"word":"abc","count":1e300})", "type", "count (--count) must be an integer", ""},
      {R"({"word":"abc","count":"1"})", "type", "count (--count) must be an integer, not string",
       ""},
      {R"({"word":"abc","wait_seconds":0.1})", "range",
       "wait_seconds (--wait) must be at least 0.5, not 0.1", ""},
      {R"({"word":"abc","tags":"a=b"})", "type",
       "tags (--tag) must be a list of strings, not string", ""},
      {R"({"word":"abc","tags":[1]})", "type",
       "tags (--tag) must be a list of strings, not of number", ""},
      {R"({"word":"abc","tags":["ab"]})", "pattern", "tags (--tag) must match ^[^=]+=.+$, not 'ab'",
       ""},
      {R"({"word":"abc","tags":["a=1","b=2","c=3"]})", "range",
       "tags (--tag) must have at most 2 items, not 3", ""},
      {R"({"word":"abc","local":1})", "type", "local (--local) must be true or false, not number",
       ""},
      {R"({"word":"abc","blob":1})", "type", "blob must be a string", ""},
  };
  for (const auto& refusal : refusals) {
    const auto checked = check(refusal.request);
    ASSERT_FALSE(checked) << refusal.request;
    EXPECT_EQ(checked.error().kind, ErrorKind::config) << refusal.request;
    EXPECT_EQ(checked.error().code, refusal.code) << refusal.request;
    EXPECT_THAT(checked.error().message, HasSubstr(refusal.message)) << refusal.request;
    EXPECT_THAT(checked.error().hint, HasSubstr(refusal.hint)) << refusal.request;
  }
}

TEST_F(CheckRequest, ShowsValuesSafelyAndShort) {
  const auto hostile = check(R"({"word":"abc","colour":"\u001b[31m"})");
  EXPECT_THAT(hostile.error().message, HasSubstr("'\\x1b[31m'"));
  const auto longer = check(R"({"word":"abc","colour":")" + std::string(500, 'x') + "\"}");
  EXPECT_LT(longer.error().message.size(), 200U);
}

}  // namespace
}  // namespace sshx
