#include "secret/store.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/paths.h"
#include "core/utf8.h"
#include "secret/secret_service.h"
#include "secret/vault.h"

namespace sshx::secret {
namespace {

std::string variable(const char* name) {
  // Read at the start; nothing in this process changes the environment.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(AskPassphrase ask) {
  const auto backend = variable("SSHX_SECRET_BACKEND");
  if (backend.empty() || backend == "secret-service") return make_secret_service();
  if (backend == "vault") {
    SSHX_TRY(auto file, vault_path());
    return make_vault({std::move(file), variable("SSHX_VAULT_PASSPHRASE_FILE"), std::move(ask)});
  }
  return config_error("secret_backend",
                      fmt::format("SSHX_SECRET_BACKEND is \"{}\"", printable(backend)),
                      "it can be secret-service, which is the default, or vault");
}

Error not_found(std::string_view key, std::string_view where) {
  return {ErrorKind::secret, "not_found", fmt::format("there is no secret {} in {}", key, where),
          fmt::format("set it with: sshx secret set {}", key)};
}

}  // namespace sshx::secret
