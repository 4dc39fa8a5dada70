#pragma once

// As much of JSON Schema as the published document schemas use, so that a unit test needs no other
// program.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/json.h"

namespace sshx::test {

inline Json document_schema(std::string_view name) {
  for (const PublishedSchema& schema : published_schemas())
    if (schema.name == name) {
      auto parsed = parse_json(schema.text, name);
      EXPECT_TRUE(parsed.has_value());
      return *parsed;
    }
  ADD_FAILURE() << "no schema " << name;
  return Json::object();
}

inline bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  return type == "array" ? value.is_array() : value.is_object();
}

inline bool has_one_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types.get<std::string>());
  for (const Json& type : types)
    if (has_type(value, type.get<std::string>())) return true;
  return false;
}

inline void check_schema(const Json& value, const Json& schema, const std::string& where);

inline void check_object(const Json& value, const Json& schema, const std::string& where) {
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  if (schema.contains("required")) {
    for (const Json& name : schema["required"]) {
      EXPECT_TRUE(value.contains(name.get<std::string>()))
          << where << " lacks " << name.get<std::string>();
    }
  }
  for (const auto& [name, member] : value.items()) {
    if (properties.contains(name))
      check_schema(member, properties[name], where + "." + name);
    else {
      EXPECT_TRUE(schema.contains("additionalProperties") || properties.empty())
          << where << " has an undeclared " << name;
    }
  }
}

/// The branch of a oneOf whose constants are those of `value`.
inline Json branch_of(const Json& value, const Json& branches, const std::string& where) {
  for (const Json& branch : branches) {
    bool fits = true;
    for (const auto& [name, member] : branch["properties"].items())
      if (member.contains("const")) fits = fits && value.value(name, Json()) == member["const"];
    if (fits) return branch;
  }
  ADD_FAILURE() << where << " fits no branch: " << dump_json(value);
  return Json::object();
}

inline void check_schema(const Json& value, const Json& schema, const std::string& where) {
  if (schema.contains("oneOf"))
    return check_schema(value, branch_of(value, schema["oneOf"], where), where);
  if (schema.contains("$ref")) {
    const auto name = schema["$ref"].get<std::string>().substr(std::string("urn:sshx:").size());
    return check_schema(value, document_schema(name), where);
  }
  if (schema.contains("type")) {
    EXPECT_TRUE(has_one_type(value, schema["type"])) << where << " is " << dump_json(value);
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << where;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
        << where << " is " << dump_json(value);
  }
  if (schema.contains("pattern") && value.is_string()) {
    EXPECT_TRUE(std::regex_match(value.get<std::string>(),
                                 std::regex(schema["pattern"].get<std::string>())))
        << where << " is " << dump_json(value);
  }
  if (schema.contains("minimum") && value.is_number()) {
    EXPECT_GE(value.get<double>(), schema["minimum"].get<double>()) << where;
  }
  if (schema.contains("maximum") && value.is_number()) {
    EXPECT_LE(value.get<double>(), schema["maximum"].get<double>()) << where;
  }
  if (value.is_array() && schema.contains("items"))
    for (std::size_t i = 0; i < value.size(); ++i)
      check_schema(value[i], schema["items"], where + "[" + std::to_string(i) + "]");
  if (value.is_object()) check_object(value, schema, where);
}

/// Fails the test unless `document` is what the published schema of its own version says.
inline void expect_valid(const Json& document) {
  const std::string name = document.value("schema_version", "");
  check_schema(document, document_schema(name), name);
}

}  // namespace sshx::test
