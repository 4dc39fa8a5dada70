#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "mcp/message.h"

namespace sshx::mcp {
namespace {

using testing::HasSubstr;

Json json(std::string_view text) {
  auto value = parse_json(text, "a test's JSON");
  EXPECT_TRUE(value.has_value()) << text;
  return value.has_value() ? *std::move(value) : Json();
}

Message read(std::string_view text) { return read_message(json(text)); }

/// The request in `text`; an empty one, and a failed test, when it is none.
Request request(std::string_view text) {
  const auto message = read(text);
  const auto* found = std::get_if<Request>(&message);
  EXPECT_NE(found, nullptr) << text;
  return found != nullptr ? *found : Request{};
}

Malformed malformed(std::string_view text) {
  const auto message = read(text);
  const auto* found = std::get_if<Malformed>(&message);
  EXPECT_NE(found, nullptr) << text;
  return found != nullptr ? *found : Malformed{std::nullopt, {0, ""}};
}

std::string request_with_id(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"ping","id":)" + std::string(id) + "}";
}

TEST(ReadMessageTest, ARequestHasAnIdAMethodAndParams) {
  const auto got = request(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}})");
  EXPECT_EQ(got.id, Json(7));
  EXPECT_EQ(got.method, "m");
  EXPECT_EQ(got.params, json(R"({"a":1})"));
}

TEST(ReadMessageTest, ARequestWithoutParamsHasEmptyOnes) {
  const auto params = request(request_with_id("1")).params;
  EXPECT_TRUE(params.is_object());
  EXPECT_TRUE(params.empty());
}

TEST(ReadMessageTest, AnIdIsKeptExactlyAsItCame) {
  for (const std::string id :
       {"0", "-1", "1", "\"\"", "\"1\"", "\"a b\"", "9007199254740992", "9007199254740993",
        "-9007199254740993", "18446744073709551615", "-9223372036854775808", R"("\u0000\n\"")"}) {
    const auto got = request(request_with_id(id)).id;
    EXPECT_EQ(dump_json(got), id);
    EXPECT_EQ(dump_json(result_response(got, Json::object())["id"]), id);
    EXPECT_EQ(dump_json(error_response(got, {kInvalidParams, "x"})["id"]), id);
  }
}

TEST(ReadMessageTest, AnIdThatIsNeitherStringNorIntegerIsInvalidAndNotEchoed) {
  for (const auto* id : {"null", "true", "false", "1.5", "1.0", "1e2", "18446744073709551616", "[]",
                         "[1]", "{}", R"({"id":1})"}) {
    const auto got = malformed(request_with_id(id));
    EXPECT_EQ(got.fault.code, kInvalidRequest) << id;
    EXPECT_FALSE(got.id.has_value()) << id;
  }
}

TEST(ReadMessageTest, AMessageIsAnObject) {
  for (const auto* text : {"null", "1", "\"x\"", "true", "[]", "[[]]"}) {
    const auto got = malformed(text);
    EXPECT_EQ(got.fault.code, kInvalidRequest) << text;
    EXPECT_FALSE(got.id.has_value()) << text;
  }
}

TEST(ReadMessageTest, AMessageIsJsonRpc2) {
  for (const auto* text :
       {R"({"id":4,"method":"ping"})", R"({"jsonrpc":"1.0","id":4,"method":"ping"})",
        R"({"jsonrpc":2.0,"id":4,"method":"ping"})", R"({"jsonrpc":null,"id":4,"method":"ping"})",
        R"({"jsonrpc":["2.0"],"id":4,"method":"ping"})",
        R"({"jsonrpc":"2.0 ","id":4,"method":"ping"})"}) {
    const auto got = malformed(text);
    EXPECT_EQ(got.fault.code, kInvalidRequest) << text;
    ASSERT_TRUE(got.id.has_value()) << text;
    EXPECT_EQ(*got.id, Json(4)) << text;
    EXPECT_THAT(got.fault.message, HasSubstr("jsonrpc"));
  }
}

TEST(ReadMessageTest, AMethodIsAString) {
  for (const auto* text :
       {R"({"jsonrpc":"2.0","id":"x"})", R"({"jsonrpc":"2.0","id":"x","method":null})",
        R"({"jsonrpc":"2.0","id":"x","method":1})", R"({"jsonrpc":"2.0","id":"x","method":["a"]})",
        R"({"jsonrpc":"2.0","id":"x","method":{}})"}) {
    const auto got = malformed(text);
    EXPECT_EQ(got.fault.code, kInvalidRequest) << text;
    ASSERT_TRUE(got.id.has_value()) << text;
    EXPECT_EQ(*got.id, Json("x"));
  }
  EXPECT_EQ(malformed(R"({"jsonrpc":"2.0"})").fault.code, kInvalidRequest);
}

TEST(ReadMessageTest, ParamsOfARequestAreAnObject) {
  for (const auto* params : {"[]", "[1]", "null", "1", "\"x\"", "true"}) {
    const auto got =
        malformed(R"({"jsonrpc":"2.0","id":3,"method":"m","params":)" + std::string(params) + "}");
    EXPECT_EQ(got.fault.code, kInvalidParams) << params;
    ASSERT_TRUE(got.id.has_value());
    EXPECT_EQ(*got.id, Json(3));
  }
}

TEST(ReadMessageTest, WithoutAnIdItIsANotificationWhateverItsParams) {
  for (const auto* params : {"{}", "[]", "null", "1"}) {
    const auto message = read(R"({"jsonrpc":"2.0","method":"notifications/x","params":)" +
                              std::string(params) + "}");
    const auto* got = std::get_if<Notification>(&message);
    ASSERT_NE(got, nullptr) << params;
    EXPECT_EQ(got->method, "notifications/x");
    EXPECT_TRUE(got->params.is_object());
  }
}

TEST(ReadMessageTest, AnswersOfTheClientAreRecognised) {
  for (const auto* text :
       {R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"jsonrpc":"2.0","id":1,"result":null})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}})",
        R"({"jsonrpc":"2.0","error":{"code":-1,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}})"}) {
    EXPECT_TRUE(std::holds_alternative<Response>(read(text))) << text;
  }
}

TEST(ReadMessageTest, WhatHasAMethodIsNoAnswer) {
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":1,"method":"ping","result":{}})").method, "ping");
}

TEST(ResponseTest, AResultHasNoError) {
  EXPECT_EQ(dump_json(result_response("a", {{"x", 1}})),
            R"({"jsonrpc":"2.0","id":"a","result":{"x":1}})");
}

TEST(ResponseTest, AnErrorWithoutAReadableIdHasNone) {
  EXPECT_EQ(dump_json(error_response(std::nullopt, {kParseError, "bad"})),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}})");
}

TEST(ResponseTest, AnErrorHasItsFactsWhereThereAreSome) {
  EXPECT_EQ(dump_json(error_response(Json(0), {kUnsupportedVersion, "no", {{"requested", "x"}}})),
            R"({"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"no",)"
            R"("data":{"requested":"x"}}})");
}

TEST(ResponseTest, ANotificationHasNoId) {
  EXPECT_EQ(dump_json(notification("notifications/x", Json::object())),
            R"({"jsonrpc":"2.0","method":"notifications/x","params":{}})");
}

TEST(MetaTest, IsEmptyWhereThereIsNoObject) {
  for (const auto* params : {"{}", R"({"_meta":null})", R"({"_meta":[]})", R"({"_meta":1})",
                             R"({"_meta":"x"})", R"({"_meta":{}})"}) {
    const auto value = json(params);
    EXPECT_TRUE(meta_of(value).is_object()) << params;
    EXPECT_TRUE(meta_of(value).empty()) << params;
  }
  const auto value = json(R"({"_meta":{"a":1}})");
  EXPECT_EQ(meta_of(value), json(R"({"a":1})"));
}

}  // namespace
}  // namespace sshx::mcp
