#include "exec/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/utf8.h"
#include "exec/fold_names.h"

namespace sshx::exec {
namespace {

bool stands_before(const TargetGroup& a, const TargetGroup& b) {
  if (a.names.size() != b.names.size()) return a.names.size() > b.names.size();
  return naturally_before(a.names.front(), b.names.front());
}

/// `text` as it is shown, with an end of line.
std::string whole_lines(std::string_view text, ControlBytes control_bytes) {
  std::string shown(text);
  if (control_bytes == ControlBytes::visible) {
    PrintableStream stream;
    shown = stream.next(text);
    shown += stream.end();
  }
  if (!shown.empty() && shown.back() != '\n') shown += '\n';
  return shown;
}

}  // namespace

std::vector<TargetGroup> gather(std::span<const TargetOutput> targets) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, TargetGroup> groups;
  for (const auto& target : targets) {
    auto& group = groups[{target.outcome, target.standard_output, target.standard_error}];
    group.sample = &target;
    group.names.emplace_back(target.name);
  }
  std::vector<TargetGroup> ordered;
  for (auto& [same, group] : groups) {
    std::ranges::sort(group.names, naturally_before);
    ordered.push_back(std::move(group));
  }
  std::ranges::sort(ordered, stands_before);
  return ordered;
}

std::string group_text(const TargetGroup& group, ControlBytes control_bytes) {
  const auto& sample = *group.sample;
  const auto title = fmt::format("--- {} ({})", fold_names(group.names), group.names.size());
  auto text = fmt::format("{}: {}\n", title, printable(sample.outcome));
  text += whole_lines(sample.standard_output, control_bytes);
  if (sample.standard_error.empty()) return text;
  text += fmt::format("{}, stderr\n", title);
  text += whole_lines(sample.standard_error, control_bytes);
  return text;
}

}  // namespace sshx::exec
