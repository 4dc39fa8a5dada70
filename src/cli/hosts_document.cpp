#include "cli/hosts_document.h"

#include <fmt/format.h>

#include <utility>

#include "cli/table.h"
#include "core/error_json.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

using inventory::Host;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string text_or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::vector<std::string> tag_texts(const Host& host) {
  std::vector<std::string> texts;
  texts.reserve(host.tags.size());
  for (const auto& [key, value] : host.tags) texts.push_back(fmt::format("{}={}", key, value));
  return texts;
}

Json tags_json(const Host& host) {
  Json tags = Json::object();
  for (const auto& [key, value] : host.tags) tags[key] = value;
  return tags;
}

Json entry_json(const HostEntry& entry) {
  const Host& host = entry.host;
  Json json = Json::object();
  json["name"] = host.name;
  json["address"] = host.address;
  json["port"] = host.port;
  json["user"] = text_or_null(host.user);
  json["identity"] = text_or_null(host.identity);
  json["groups"] = host.groups;
  json["tags"] = tags_json(host);
  json["description"] = text_or_null(host.description);
  json["keys"] = entry.keys;
  json["test"] = entry.test;
  return json;
}

}  // namespace

Json hosts_document(const HostsAnswer& answer) {
  Json hosts = Json::array();
  for (const auto& entry : answer.hosts) hosts.push_back(entry_json(entry));
  Json document = Json::object();
  document["schema_version"] = "sshx.hosts.v1";
  document["operation"] = answer.operation;
  document["success"] = !answer.error.has_value();
  document["count"] = answer.hosts.size();
  document["hosts"] = std::move(hosts);
  document["path"] = answer.path.string();
  document["warnings"] = answer.warnings;
  document["error"] = error_json(answer.error ? &*answer.error : nullptr, kNothingRan);
  document["error_kind"] = answer.error ? Json(to_string(answer.error->kind)) : Json(nullptr);
  return document;
}

std::string hosts_table(const HostsAnswer& answer) {
  if (answer.hosts.empty()) return {};
  Table table({"NAME", "ADDRESS", "PORT", "USER", "GROUPS", "TAGS", "DESCRIPTION"});
  for (const auto& entry : answer.hosts) {
    const Host& host = entry.host;
    table.add({host.name, host.address, fmt::format("{}", host.port), text_or_dash(host.user),
               text_or_dash(join(host.groups, ",")), text_or_dash(join(tag_texts(host), ",")),
               text_or_dash(host.description)});
  }
  return table.text();
}

std::string host_sheet(const HostEntry& entry) {
  const Host& host = entry.host;
  Table table({"name", host.name});
  table.add({"address", host.address});
  table.add({"port", fmt::format("{}", host.port)});
  table.add({"user", text_or_dash(host.user)});
  table.add({"identity", text_or_dash(host.identity)});
  table.add({"groups", text_or_dash(join(host.groups, ", "))});
  table.add({"tags", text_or_dash(join(tag_texts(host), ", "))});
  table.add({"description", text_or_dash(host.description)});
  for (const auto& key : entry.keys) {
    table.add({"key", fmt::format("{} {} {}", key["type"].get<std::string>(),
                                  key["fingerprint"].get<std::string>(),
                                  key["verdict"].get<std::string>())});
  }
  if (entry.keys.empty())
    table.add({"key", fmt::format("none is trusted yet; see sshx host trust {}", host.name)});
  return table.text();
}

Json key_json(std::string_view type, std::string_view fingerprint, std::string_view verdict) {
  Json key = Json::object();
  key["type"] = type;
  key["fingerprint"] = fingerprint;
  key["verdict"] = verdict;
  key["recorded"] = false;
  return key;
}

}  // namespace sshx::cli
