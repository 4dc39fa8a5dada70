#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/json.h"
#include "mcp/revision.h"

namespace sshx::mcp {

/// The tools that a server offers: operations whose descriptors have a `tool` block.
class Tools {
 public:
  /// The tools named (`sshx_run` or `run`; none named: all there are), in the order of their names.
  /// A tool whose operation lacks one of the presentation options `required` is left out: what the
  /// operator limits must hold for every tool. Returns: config (`range`), with the nearest name.
  [[nodiscard]] static Result<Tools> choose(std::span<const std::string> names,
                                            std::span<const std::string_view> required);

  /// The operation behind a tool; null when this server offers none of that name.
  [[nodiscard]] const Operation* find(std::string_view tool) const noexcept;
  /// The `tools` array, without what `revision` does not know yet.
  [[nodiscard]] Json list(const Revision& revision) const;

 private:
  std::vector<const Operation*> offered_;
};

/// Whether the operation takes this presentation option.
[[nodiscard]] bool takes(const Operation& operation, std::string_view presentation) noexcept;

}  // namespace sshx::mcp
