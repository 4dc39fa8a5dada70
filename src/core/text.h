#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/identifier.h"
#include "core/quantity.h"
#include "core/shell_quote.h"
#include "core/utf8.h"
#include "core/wall_time.h"

namespace sshx {

/// ASCII only, whatever the locale (a Turkish one must not change host names).
[[nodiscard]] std::string lower_ascii(std::string_view text);

/// `text` without ASCII white space at both ends.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// The parts between separators, empty ones included; an empty text is one empty part.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
/// For a sentence: "a, b and 7 more" where there are more than `most`, which are not named; else
/// all of them.
[[nodiscard]] std::string listed(std::span<const std::string> words, std::size_t most);

/// The candidate nearest to `word` (edit distance with transpositions, at most a third of its
/// length); for "did you mean".
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// "HOST:PORT", with brackets around an IPv6 address.
[[nodiscard]] std::string host_and_port(std::string_view host, std::uint16_t port);

}  // namespace sshx
