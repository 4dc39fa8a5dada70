#pragma once

#include <filesystem>
#include <memory>

#include "secret/store.h"

namespace sshx::secret {

struct VaultPlace {
  std::filesystem::path file;
  std::string passphrase_file;  ///< Empty: none, so that a person is asked.
  AskPassphrase ask;
};

/// A file of ours (sshx.vault.v1) that only its owner may read, replaced as a whole under a lock.
/// Keys and secrets are both encrypted, see sealed_text.h. For machines without a secret service.
[[nodiscard]] std::unique_ptr<Store> make_vault(VaultPlace place);

}  // namespace sshx::secret
