#include "mcp/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/build_info.h"
#include "core/descriptor.h"

namespace sshx::mcp {
namespace {

constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kSchemaUri = "sshx://schema/";
constexpr std::string_view kSchemaType = "application/schema+json";
/// What is cached changes with the binary and its options only, so for another process.
constexpr long long kTimeToLiveMs = 5LL * 60 * 1000;

Json server_info() {
  return {{"name", "sshx"}, {"title", "sshx"}, {"version", build_info::kVersion}};
}

Json capabilities() { return {{"tools", Json::object()}, {"resources", Json::object()}}; }

bool is_listed(const PublishedSchema& schema) { return schema.kind == "document"; }

Json resource_of(const PublishedSchema& schema) {
  return {{"uri", std::string(kSchemaUri) + std::string(schema.name)},
          {"name", schema.name},
          {"title", schema.title},
          {"description", fmt::format("JSON Schema of {}: {}", schema.name, schema.title)},
          {"mimeType", kSchemaType}};
}

Fault not_found(const std::string& uri, const Revision& revision) {
  const int code = revision.era == Era::stateless ? kInvalidParams : kResourceNotFound;
  return {code, "there is no such resource; resources/list shows those there are", {{"uri", uri}}};
}

}  // namespace

Json finished(const Revision& revision, Json result) {
  if (revision.era == Era::handshake) return result;
  result["resultType"] = "complete";
  result["_meta"][kServerKey] = server_info();
  return result;
}

Json cacheable(const Revision& revision, Json result) {
  if (revision.era == Era::stateless) {
    result["ttlMs"] = kTimeToLiveMs;
    result["cacheScope"] = "private";
  }
  return finished(revision, std::move(result));
}

Json initialize_result(const std::string& version, const std::string& instructions) {
  return {{"protocolVersion", version},
          {"capabilities", capabilities()},
          {"serverInfo", server_info()},
          {"instructions", instructions}};
}

Json discover_result(const std::string& instructions) {
  return {{"supportedVersions", kStatelessRevisions},
          {"capabilities", capabilities()},
          {"instructions", instructions}};
}

Json resource_list() {
  Json list = Json::array();
  for (const auto& schema : published_schemas()) {
    if (is_listed(schema)) list.push_back(resource_of(schema));
  }
  return list;
}

std::variant<Json, Fault> read_resource(const Json& params, const Revision& revision) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string())
    return Fault{kInvalidParams, "params needs uri, a string"};
  const auto& text = uri->get_ref<const std::string&>();
  const auto all = published_schemas();
  const auto found = std::ranges::find_if(all, [&](const PublishedSchema& schema) {
    return is_listed(schema) && text == std::string(kSchemaUri) + std::string(schema.name);
  });
  if (found == all.end()) return not_found(text, revision);
  return Json{{"contents",
               Json::array({{{"uri", text}, {"mimeType", kSchemaType}, {"text", found->text}}})}};
}

}  // namespace sshx::mcp
