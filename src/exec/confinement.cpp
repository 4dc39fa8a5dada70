#include "exec/confinement.h"

#include <vector>

#include "core/beneath.h"
#include "core/file.h"
#include "core/paths.h"

namespace sshx::exec {

Confinement confinement_of(const Json& options) {
  using Names = std::vector<std::string>;
  return {.reach = inventory::Reach(options.value("allow_targets", Names()),
                                    options.value("allow_groups", Names())),
          .read_only = options.value("read_only", false),
          .local_root = options.value("local_root", std::string()),
          .needs_local_root = false};
}

Result<std::string> read_local_file(const Confinement& confinement, const std::string& name,
                                    std::size_t limit) {
  SSHX_TRY(const auto path, expand_home(name));
  if (!confinement.local_root.empty()) {
    SSHX_TRY(const auto root, expand_home(confinement.local_root));
    return read_beneath(root, path, limit);
  }
  if (!confinement.needs_local_root) return read_file(path, limit);
  return Error{ErrorKind::blocked, "no_local_root",
               "local files cannot be named here: no folder was set that they may come from",
               "give the content itself, in script; or let the operator set --local-root DIR"};
}

Status check_may_run(const Confinement& confinement) {
  if (!confinement.read_only) return {};
  return Error{ErrorKind::blocked, "read_only", "nothing may be run here: it is read-only",
               "dry_run shows what would be done; the operator set --read-only"};
}

}  // namespace sshx::exec
