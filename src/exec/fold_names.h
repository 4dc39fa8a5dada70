#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sshx::exec {

/// Whether `a` comes before `b` for people: numbers within count as numbers, web-2 before web-10.
[[nodiscard]] bool naturally_before(std::string_view a, std::string_view b);

/// Names for people, in their natural order: those that differ in one number alone are folded,
/// "web-[1-3,7]", the rest stands between commas. A number with leading zeros keeps its width:
/// "web-[08-10]" is web-08, web-09 and web-10. Names that hold a bracket or a comma stay as they
/// are.
[[nodiscard]] std::string fold_names(std::vector<std::string_view> names);

}  // namespace sshx::exec
