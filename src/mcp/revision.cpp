#include "mcp/revision.h"

#include <algorithm>

namespace sshx::mcp {
namespace {

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kClientKey = "io.modelcontextprotocol/clientInfo";

bool is_stateless(const Request& request) {
  const auto& meta = meta_of(request.params);
  return request.method == "server/discover" || meta.contains(kVersionKey) ||
         meta.contains(kCapabilitiesKey) || meta.contains(kClientKey);
}

Fault unsupported(const std::string& requested) {
  return {kUnsupportedVersion,
          "protocol version " + quoted_word(requested) + " is not supported",
          {{"supported", kStatelessRevisions}, {"requested", requested}}};
}

std::variant<Revision, Fault> stateless_revision(const Json& meta) {
  const auto version = meta.find(kVersionKey);
  if (version == meta.end() || !version->is_string()) {
    return Fault{kInvalidParams, std::string("_meta needs ") + kVersionKey + ", a string"};
  }
  const auto capabilities = meta.find(kCapabilitiesKey);
  if (capabilities == meta.end() || !capabilities->is_object()) {
    return Fault{kInvalidParams, std::string("_meta needs ") + kCapabilitiesKey + ", an object"};
  }
  const auto& date = version->get_ref<const std::string&>();
  if (std::ranges::find(kStatelessRevisions, date) == kStatelessRevisions.end()) {
    return unsupported(date);
  }
  return Revision{Era::stateless, date};
}

}  // namespace

std::variant<Revision, Fault> revision_of(const Request& request, const std::string& negotiated) {
  if (is_stateless(request)) return stateless_revision(meta_of(request.params));
  if (!negotiated.empty()) return Revision{Era::handshake, negotiated};
  if (request.method == "initialize" || request.method == "ping") {
    return Revision{Era::handshake, std::string(kHandshakeRevisions.front())};
  }
  return Fault{kInvalidParams, std::string("_meta needs ") + kVersionKey + " and " +
                                   kCapabilitiesKey + ", or send initialize first"};
}

std::string negotiate(const Json& requested) {
  const auto found = std::ranges::find_if(kHandshakeRevisions,
                                          [&](std::string_view date) { return requested == date; });
  return std::string(found != kHandshakeRevisions.end() ? *found : kHandshakeRevisions.front());
}

}  // namespace sshx::mcp
