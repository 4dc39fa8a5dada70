#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "mcp/revision.h"

namespace sshx::mcp {
namespace {

using testing::HasSubstr;

constexpr const char* kVersion = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kClient = "io.modelcontextprotocol/clientInfo";

Request request(const std::string& method, Json meta = nullptr) {
  Json params = Json::object();
  if (!meta.is_null()) params["_meta"] = std::move(meta);
  return {1, method, std::move(params)};
}

Json stateless_meta() { return {{kVersion, "2026-07-28"}, {kCapabilities, Json::object()}}; }

/// The date and era, or the code of the fault.
std::string decided(const Request& request, const std::string& negotiated = {}) {
  const auto decision = revision_of(request, negotiated);
  if (const auto* fault = std::get_if<Fault>(&decision)) return std::to_string(fault->code);
  const auto& revision = std::get<Revision>(decision);
  return (revision.era == Era::stateless ? "stateless " : "handshake ") + revision.date;
}

Fault fault_of(const Request& request, const std::string& negotiated = {}) {
  const auto decision = revision_of(request, negotiated);
  const auto* fault = std::get_if<Fault>(&decision);
  EXPECT_NE(fault, nullptr);
  return fault != nullptr ? *fault : Fault{0, ""};
}

TEST(RevisionOfTest, AWholeEnvelopeIsStateless) {
  EXPECT_EQ(decided(request("tools/list", stateless_meta())), "stateless 2026-07-28");
  auto meta = stateless_meta();
  meta[kClient] = {{"name", "c"}, {"version", "1"}};
  meta["io.modelcontextprotocol/logLevel"] = "debug";
  meta["progressToken"] = 0;
  EXPECT_EQ(decided(request("tools/list", meta)), "stateless 2026-07-28");
}

TEST(RevisionOfTest, AnEnvelopeCountsWhateverWasNegotiated) {
  for (const auto& negotiated : kHandshakeRevisions) {
    EXPECT_EQ(decided(request("tools/list", stateless_meta()), std::string(negotiated)),
              "stateless 2026-07-28");
  }
}

/// Each combination of the three keys being there or not, and of their types being right or not.
TEST(RevisionOfTest, ANamedKeyMakesARequestStatelessAndTheRequiredOnesMustBeRight) {
  const std::vector<Json> versions{nullptr, "2026-07-28", 20260728, Json::array(), Json::object()};
  const std::vector<Json> capabilities{nullptr, Json::object(), Json::array(), "x", true};
  const std::vector<Json> clients{nullptr, Json::object(), "odd"};
  for (const auto& version : versions) {
    for (const auto& capability : capabilities) {
      for (const auto& client : clients) {
        Json meta = Json::object();
        if (!version.is_null()) meta[kVersion] = version;
        if (!capability.is_null()) meta[kCapabilities] = capability;
        if (!client.is_null()) meta[kClient] = client;
        const bool is_right = version == "2026-07-28" && capability.is_object();
        const auto* const handshake = meta.empty() ? "handshake 2025-06-18" : "-32602";
        EXPECT_EQ(decided(request("tools/list", meta), "2025-06-18"),
                  is_right ? "stateless 2026-07-28" : handshake)
            << dump_json(meta);
      }
    }
  }
}

TEST(RevisionOfTest, ANullVersionIsAnIllTypedOne) {
  EXPECT_EQ(decided(request("tools/list", {{kVersion, nullptr}, {kCapabilities, Json::object()}})),
            "-32602");
  EXPECT_EQ(decided(request("tools/list", {{kVersion, "2026-07-28"}, {kCapabilities, nullptr}})),
            "-32602");
}

TEST(RevisionOfTest, TheFaultNamesTheMissingKey) {
  EXPECT_THAT(fault_of(request("tools/list", {{kCapabilities, Json::object()}})).message,
              HasSubstr(kVersion));
  EXPECT_THAT(fault_of(request("tools/list", {{kVersion, "2026-07-28"}})).message,
              HasSubstr(kCapabilities));
}

TEST(RevisionOfTest, EveryOtherVersionIsUnsupportedOnEveryRequest) {
  for (const auto* version :
       {"", "v999.0.0", "2025-11-25", "2024-11-05", "2026-07-29", "2026-07-28 ", "DRAFT"}) {
    auto meta = stateless_meta();
    meta[kVersion] = version;
    for (const auto* method : {"tools/list", "server/discover", "ping", "no/such"}) {
      const auto fault = fault_of(request(method, meta), "2025-11-25");
      EXPECT_EQ(fault.code, kUnsupportedVersion) << version;
      EXPECT_EQ(fault.data["requested"], version);
      EXPECT_EQ(fault.data["supported"], Json(kStatelessRevisions));
    }
  }
}

TEST(RevisionOfTest, AFaultDoesNotRepeatALongVersionInItsMessage) {
  auto meta = stateless_meta();
  meta[kVersion] = std::string(100'000, 'v');
  EXPECT_LT(fault_of(request("tools/list", meta)).message.size(), 1000U);
}

TEST(RevisionOfTest, DiscoverIsStatelessAlsoWithoutAnEnvelope) {
  EXPECT_EQ(decided(request("server/discover")), "-32602");
  EXPECT_EQ(decided(request("server/discover"), "2025-11-25"), "-32602");
  EXPECT_EQ(decided(request("server/discover", stateless_meta())), "stateless 2026-07-28");
}

TEST(RevisionOfTest, WithoutAnEnvelopeWhatWasNegotiatedHolds) {
  for (const auto& negotiated : kHandshakeRevisions) {
    const std::string date(negotiated);
    EXPECT_EQ(decided(request("tools/list"), date), "handshake " + date);
    EXPECT_EQ(decided(request("tools/list", {{"progressToken", 1}}), date), "handshake " + date);
  }
}

TEST(RevisionOfTest, BeforeAHandshakeOnlyPingAndInitializeAreServed) {
  EXPECT_EQ(decided(request("initialize")), "handshake 2025-11-25");
  EXPECT_EQ(decided(request("ping")), "handshake 2025-11-25");
  for (const auto* method : {"tools/list", "tools/call", "resources/read", "no/such",
                             "subscriptions/listen", "logging/setLevel"}) {
    const auto fault = fault_of(request(method));
    EXPECT_EQ(fault.code, kInvalidParams) << method;
    EXPECT_THAT(fault.message, HasSubstr(kVersion));
    EXPECT_THAT(fault.message, HasSubstr(kCapabilities));
    EXPECT_THAT(fault.message, HasSubstr("initialize"));
  }
}

TEST(NegotiateTest, AgreesOnWhatIsServedElseOffersTheNewest) {
  for (const auto& date : kHandshakeRevisions) EXPECT_EQ(negotiate(std::string(date)), date);
  for (const Json& asked : {Json("2026-07-28"), Json("2024-10-07"), Json("1.0"), Json(""),
                            Json(20251125), Json(nullptr), Json::array()}) {
    EXPECT_EQ(negotiate(asked), "2025-11-25") << dump_json(asked);
  }
}

TEST(RevisionTest, EachRevisionHasItsOwnFeatures) {
  const auto features = [](const char* date) {
    const Revision revision{Era::handshake, date};
    return std::vector<bool>{revision.has_tool_annotations(), revision.has_progress_messages(),
                             revision.has_structured_content(), revision.has_batches()};
  };
  using Features = std::vector<bool>;
  EXPECT_EQ(features("2024-11-05"), (Features{false, false, false, false}));
  EXPECT_EQ(features("2025-03-26"), (Features{true, true, false, true}));
  EXPECT_EQ(features("2025-06-18"), (Features{true, true, true, false}));
  EXPECT_EQ(features("2025-11-25"), (Features{true, true, true, false}));
  EXPECT_EQ(features("2026-07-28"), (Features{true, true, true, false}));
  EXPECT_FALSE((Revision{Era::handshake, ""}).has_batches());
}

}  // namespace
}  // namespace sshx::mcp
