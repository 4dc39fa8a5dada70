// Redaction only ever takes away, and what is a credential by its own form never gets through.
// The few bytes behind a "*" at the front are repeated: what is not linear then shows as a
// time-out.

#include "core/redact.h"
#include "fuzz/property.h"

namespace sshx::fuzz {
namespace {

constexpr std::size_t kRepeatedSize = std::size_t{32} << 10U;
constexpr std::size_t kLongestPart = 32;

/// Made of a prefix that issuers use; nobody has issued it.
constexpr std::string_view kCredential = "ghp_FuzzFuzzFuzzFuzzFuzzFuzzFuzzFuzzFuzz";

/// Whether `out` is `text` with parts of it replaced by kRedacted.
bool only_takes_away(std::string_view text, std::string_view out) {
  for (bool first = true;; first = false) {
    const auto mark = out.find(kRedacted);
    const auto kept = out.substr(0, mark);
    if (mark == std::string_view::npos) return first ? text == kept : text.ends_with(kept);
    const auto found = text.find(kept);
    if (found == std::string_view::npos || (first && found != 0)) return false;
    text.remove_prefix(found + kept.size());
    out.remove_prefix(kept.size() + kRedacted.size());
  }
}

std::string repeated(std::string_view text) {
  std::string all;
  while (!text.empty() && all.size() < kRepeatedSize) all += text;
  return all;
}

void check(std::string_view text) {
  if (text.starts_with('*')) {
    const auto all = repeated(text.substr(1, kLongestPart));
    require(only_takes_away(all, redact(all)), "redaction only takes away");
    return;
  }
  require(only_takes_away(text, redact(text)), "redaction only takes away");
  const auto middle = std::min(text.find('\0'), text.size());
  const auto around = std::string(text.substr(0, middle)) + "\n" + std::string(kCredential) + "\n" +
                      std::string(text.substr(middle));
  require(redact(around).find(kCredential) == std::string::npos,
          "a credential by its own form never gets through");
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
