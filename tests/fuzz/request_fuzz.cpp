// A request against its descriptor. The first line is "OPERATION" or "OPERATION mcp", the rest is
// the request.

#include <array>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/request.h"
#include "fuzz/property.h"

namespace sshx::fuzz {
namespace {

constexpr std::array<std::string_view, 5> kCodes{"unknown_property", "type", "range", "required",
                                                 "pattern"};

void check_refusal(const Error& error) {
  constexpr std::size_t kLongest = 2048;
  require(error.kind == ErrorKind::config, "a refused request is config");
  require(std::find(kCodes.begin(), kCodes.end(), error.code) != kCodes.end(),
          "a refused request has a code of the contract");
  require(error.message.size() <= kLongest, "a message does not grow with the request");
  require_presentable(error);
}

void check_accepted(const Operation& operation, const Json& request, const Json& checked,
                    Surface surface) {
  for (const auto& member : request.items()) {
    const auto* property = find_property(operation, member.key());
    require(property != nullptr, "an accepted property is declared");
    require(surface == Surface::cli || !property->cli_only,
            "an accepted property is on the surface");
    require(checked.contains(member.key()), "an accepted property is kept");
  }
  for (const auto& property : operation.properties) {
    require(!property.required || checked.contains(std::string(property.name)),
            "what is required is there");
  }
  const auto again = check_request(operation, checked, surface);
  require(again && dump_json(*again) == dump_json(checked),
          "a checked request passes, and stays as it is");
}

void check(std::string_view input) {
  auto name = take_line(input);
  const auto surface = name.ends_with(" mcp") ? Surface::mcp : Surface::cli;
  if (surface == Surface::mcp) name.remove_suffix(4);
  const auto* operation = find_operation(name);
  const auto request = parse_json(input, "the request");
  if (operation == nullptr || !request) return;
  const auto checked = check_request(*operation, *request, surface);
  if (!checked) return check_refusal(checked.error());
  check_accepted(*operation, *request, *checked, surface);
}

}  // namespace
}  // namespace sshx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sshx::fuzz::check(sshx::fuzz::text_of(data, size));
  return 0;
}
