#include "core/descriptor.h"

#include <algorithm>

namespace sshx {

const Operation* find_operation(std::string_view name) noexcept {
  const auto all = operations();
  const auto found = std::ranges::find(all, name, &Operation::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace sshx
