#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/message.h"

namespace sshx::mcp {

/// The two ways of speaking MCP: with a handshake (to 2025-11-25), and stateless, where each
/// request says all about itself (from 2026-07-28). One process serves both, decided by message.
enum class Era : std::uint8_t { handshake, stateless };

/// Newest first.
inline constexpr std::array<std::string_view, 4> kHandshakeRevisions{"2025-11-25", "2025-06-18",
                                                                     "2025-03-26", "2024-11-05"};
inline constexpr std::array<std::string_view, 1> kStatelessRevisions{"2026-07-28"};

/// The protocol revision that one request is served under.
struct Revision {
  Era era = Era::handshake;
  std::string date;  ///< "2025-11-25". Dates compare as text.

  [[nodiscard]] bool has_tool_annotations() const { return date >= "2025-03-26"; }
  [[nodiscard]] bool has_progress_messages() const { return date >= "2025-03-26"; }
  [[nodiscard]] bool has_structured_content() const { return date >= "2025-06-18"; }
  /// Whether an array of messages is taken as a batch: in one revision only.
  [[nodiscard]] bool has_batches() const { return date == "2025-03-26"; }
};

/// The revision that `request` asks for. `negotiated` is what the last handshake agreed on, empty
/// before one. A stateless request names its revision and its client's capabilities in _meta; what
/// names neither before a handshake is refused, ping and initialize excepted.
[[nodiscard]] std::variant<Revision, Fault> revision_of(const Request& request,
                                                        const std::string& negotiated);

/// What a handshake agrees on: the version asked for if it is served, else the newest that is.
[[nodiscard]] std::string negotiate(const Json& requested);

}  // namespace sshx::mcp
