#include "secret/vault.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/utf8.h"
#include "secret/sealed_text.h"

namespace sshx::secret {
namespace {

constexpr std::size_t kLargestVault = 16UL << 20U;
constexpr std::size_t kLongestPassphrase = 4096;
constexpr auto kReadableByOthers = static_cast<mode_t>(S_IRWXG | S_IRWXO);

/// What is in a vault, by key; wiped when it goes away.
using Entries = std::map<std::string, Secret>;

Error no_passphrase(std::string message) {
  return {ErrorKind::secret, "no_passphrase", std::move(message), std::string(kPassphraseHint)};
}

/// Refuses a passphrase file that others may read.
Status check_hidden(const std::string& file) {
  struct stat facts {};

  if (stat(file.c_str(), &facts) != 0 || (facts.st_mode & kReadableByOthers) == 0) return {};
  return config_error("unsafe_permissions",
                      fmt::format("others may read or change {}", printable(file)),
                      fmt::format("chmod 600 {}", printable(file)));
}

Result<Secret> passphrase_in(const std::string& file) {
  SSHX_CHECK(check_hidden(file));
  SSHX_CHECK(check_private(file));
  SSHX_TRY(auto text, read_file(file, kLongestPassphrase));
  auto end = text.find('\n');
  if (end != std::string::npos && end > 0 && text[end - 1] == '\r') --end;
  if (end != std::string::npos) {
    // The rest is not wiped by resize().
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\0');
    text.resize(end);
  }
  if (text.empty())
    return no_passphrase(fmt::format("the first line of {} is empty", printable(file)));
  return Secret(std::move(text));
}

/// The entries as text, for seal().
Secret text_of(const Entries& entries) {
  Json json = Json::object();
  for (const auto& [key, secret] : entries) json[key] = to_base64(secret.reveal());
  Secret text(dump_json(json));
  for (auto& value : json) wipe(value.get_ref<std::string&>());
  return text;
}

Result<Entries> entries_of(const Secret& text) {
  SSHX_TRY(auto json, parse_json(text.reveal(), "the vault"));
  Entries entries;
  for (auto& [key, value] : json.items()) {
    SSHX_TRY(auto bytes, from_base64(value.get_ref<const std::string&>()));
    wipe(value.get_ref<std::string&>());
    entries.emplace(key, Secret(std::move(bytes)));
  }
  return entries;
}

class Vault final : public Store {
 public:
  explicit Vault(VaultPlace place) : place_(std::move(place)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "vault"; }

  Result<Secret> get(const std::string& key) override {
    SSHX_TRY(auto entries, load());
    const auto found = entries.find(key);
    if (found == entries.end()) return not_found(key, place_.file.string());
    return std::move(found->second);
  }

  Status set(const std::string& key, const Secret& secret) override {
    return change([&](Entries& entries) -> Status {
      entries[key] = Secret(std::string(secret.reveal()));
      return {};
    });
  }

  Status remove(const std::string& key) override {
    return change([&](Entries& entries) -> Status {
      if (entries.erase(key) == 0) return not_found(key, place_.file.string());
      return {};
    });
  }

  Result<std::vector<std::string>> keys() override {
    SSHX_TRY(const auto entries, load());
    std::vector<std::string> keys;
    for (const auto& [key, secret] : entries) keys.push_back(key);
    return keys;
  }

 private:
  /// Of a file that is there or, with `is_new`, will be.
  Status unlock(bool is_new) {
    if (passphrase_) return {};
    if (!place_.passphrase_file.empty()) {
      SSHX_TRY(passphrase_, passphrase_in(place_.passphrase_file));
    } else {
      SSHX_TRY(passphrase_, place_.ask(place_.file.string(), is_new));
    }
    if (passphrase_->reveal().empty()) return no_passphrase("the passphrase is empty");
    return {};
  }

  /// What the file holds; nothing where there is none.
  Result<Entries> load() {
    SSHX_CHECK(check_private(place_.file));
    auto sealed = read_file(place_.file, kLargestVault);
    if (!sealed && sealed.error().code == "not_found") return Entries();
    if (!sealed) return std::move(sealed).error();
    SSHX_CHECK(unlock(false));
    SSHX_TRY(const auto text, unseal(*sealed, *passphrase_));
    return entries_of(text);
  }

  template <class Change>
  Status change(Change change) {
    SSHX_CHECK(make_private_directory(place_.file.parent_path()));
    // A lock beside the file, which is replaced.
    SSHX_TRY(const auto lock, FileLock::acquire(place_.file.string() + ".lock"));
    SSHX_TRY(auto entries, load());
    SSHX_CHECK(change(entries));
    SSHX_CHECK(unlock(true));
    SSHX_TRY(const auto sealed, seal(text_of(entries), *passphrase_));
    return replace_file(place_.file, sealed);
  }

  VaultPlace place_;
  std::optional<Secret> passphrase_;
};

}  // namespace

std::unique_ptr<Store> make_vault(VaultPlace place) {
  return std::make_unique<Vault>(std::move(place));
}

}  // namespace sshx::secret
