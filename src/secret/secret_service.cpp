#include "secret/secret_service.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/deadline.h"
#include "secret/libsecret.h"

namespace sshx::secret {
namespace {

constexpr double kPatienceSeconds = 2.5;
constexpr std::string_view kWhere = "the secret service";
constexpr std::string_view kVaultHint =
    "or keep secrets in a vault: set SSHX_SECRET_BACKEND to vault";

Error service_error(std::string code, std::string message, std::string_view hint) {
  return {ErrorKind::secret, std::move(code), std::move(message),
          fmt::format("{}, {}", hint, kVaultHint)};
}

/// Whether there is a bus to ask. GLib would start one where there is a display.
Status check_bus() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in this process changes the environment.
  const auto variable = [](const char* name) { return std::getenv(name); };
  const char* address = variable("DBUS_SESSION_BUS_ADDRESS");
  if (address != nullptr && *address != '\0') return {};
  const char* runtime = variable("XDG_RUNTIME_DIR");
  struct stat facts {};

  if (runtime != nullptr && stat((std::string(runtime) + "/bus").c_str(), &facts) == 0 &&
      S_ISSOCK(facts.st_mode))
    return {};
  return service_error("no_bus", "there is no D-Bus session here to reach a secret service by",
                       "log in to a desktop session, or set DBUS_SESSION_BUS_ADDRESS");
}

Error locked() {
  return service_error("locked", "the keyring is locked", "unlock it in your desktop session");
}

/// An object of GLib's, given back at the end.
template <class T>
using Held = std::unique_ptr<T, std::function<void(T*)>>;

/// One conversation with the service, on a thread of its own: nothing here has a deadline.
class Conversation {
 public:
  [[nodiscard]] static Result<Conversation> begin() {
    SSHX_CHECK(check_bus());
    SSHX_TRY(const auto* library, Libsecret::load());
    Conversation conversation(*library);
    GError* fault = nullptr;
    auto* service = library->service_get_sync(SECRET_SERVICE_OPEN_SESSION, nullptr, &fault);
    if (service == nullptr) return conversation.error_of(fault);
    conversation.service_ = conversation.held(service);
    return conversation;
  }

  /// The entries with that key; null: all of ours.
  Result<std::vector<Held<SecretItem>>> find(const std::string* key) {
    const auto attributes = attributes_of(key);
    GError* fault = nullptr;
    GList* found = library_->service_search_sync(service_.get(), nullptr, attributes.get(),
                                                 SECRET_SEARCH_ALL, nullptr, &fault);
    if (fault != nullptr) return error_of(fault);
    std::vector<Held<SecretItem>> items;
    for (auto* link = found; link != nullptr; link = link->next)
      items.push_back(held(static_cast<SecretItem*>(link->data)));
    library_->list_free(found);
    return items;
  }

  std::string key_of(SecretItem* item) {
    const Held<GHashTable> attributes(library_->item_get_attributes(item), unref_table());
    const auto* key = library_->hash_table_lookup(attributes.get(), "key");
    return key != nullptr ? static_cast<const char*>(key) : std::string();
  }

  bool is_locked(SecretItem* item) { return library_->item_get_locked(item) != FALSE; }

  Result<Secret> secret_of(SecretItem* item) {
    if (is_locked(item)) return locked();
    GError* fault = nullptr;
    if (library_->item_load_secret_sync(item, nullptr, &fault) == FALSE) return error_of(fault);
    const Held<SecretValue> value(library_->item_get_secret(item), unref_value());
    if (!value) return locked();
    gsize size = 0;
    const auto* bytes = library_->value_get(value.get(), &size);
    return Secret(std::string(bytes, size));
  }

  Status create(const std::string& key, const Secret& secret) {
    GError* fault = nullptr;
    const Held<SecretCollection> collection = held(library_->collection_for_alias_sync(
        service_.get(), SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, nullptr, &fault));
    if (fault != nullptr) return error_of(fault);
    if (!collection) {
      return service_error("locked", "the secret service has no default keyring yet",
                           "make one in your desktop session");
    }
    if (library_->collection_get_locked(collection.get()) != FALSE) return locked();
    const auto text = secret.reveal();
    const Held<SecretValue> value(
        library_->value_new(text.data(), static_cast<gssize>(text.size()), "text/plain"),
        unref_value());
    const auto attributes = attributes_of(&key);
    const auto label = "sshx: " + key;
    const auto item =
        held(library_->item_create_sync(collection.get(), nullptr, attributes.get(), label.c_str(),
                                        value.get(), SECRET_ITEM_CREATE_REPLACE, nullptr, &fault));
    if (!item) return error_of(fault);
    return {};
  }

  Status remove(SecretItem* item) {
    if (is_locked(item)) return locked();
    GError* fault = nullptr;
    if (library_->item_delete_sync(item, nullptr, &fault) == FALSE) return error_of(fault);
    return {};
  }

 private:
  explicit Conversation(const Libsecret& library) : library_(&library) {}

  template <class T>
  Held<T> held(T* object) {
    return {object, [library = library_](T* one) { library->object_unref(one); }};
  }

  [[nodiscard]] std::function<void(GHashTable*)> unref_table() const {
    return [library = library_](GHashTable* one) { library->hash_table_unref(one); };
  }

  [[nodiscard]] std::function<void(SecretValue*)> unref_value() const {
    return [library = library_](SecretValue* one) { library->value_unref(one); };
  }

  /// The table refers to `key`, which must live as long; null: of all our entries.
  Held<GHashTable> attributes_of(const std::string* key) const {
    Held<GHashTable> table(library_->hash_table_new(library_->str_hash, library_->str_equal),
                           unref_table());
    const auto put = [&](const char* name, const char* value) {
      // GLib's tables take no const, and copy nothing.
      library_->hash_table_insert(table.get(), const_cast<char*>(name), const_cast<char*>(value));
    };
    put("service", "sshx");
    if (key != nullptr) put("key", key->c_str());
    return table;
  }

  Error error_of(GError* fault) {
    if (fault == nullptr) {
      return service_error("failed", "the secret service gave no answer that can be used",
                           "see what it logs");
    }
    const bool nobody = fault->domain == library_->dbus_error_quark() &&
                        (fault->code == G_DBUS_ERROR_SERVICE_UNKNOWN ||
                         fault->code == G_DBUS_ERROR_NAME_HAS_NO_OWNER);
    const std::string message = fault->message;
    library_->error_free(fault);
    if (nobody) {
      return service_error("no_provider", "no secret service runs in this D-Bus session",
                           "start one, such as gnome-keyring");
    }
    return service_error("failed", fmt::format("the secret service failed: {}", message),
                         "see what it logs");
  }

  const Libsecret* library_;
  Held<SecretService> service_;
};

/// What a thread works out for somebody who may have gone.
template <class T>
struct Answer {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<Result<T>> value;
};

/// What `talk` gives, unless it takes too long: then its thread is left behind, with all that it
/// owns.
template <class T>
Result<T> in_time(std::function<Result<T>(Conversation&)> talk) {
  auto answer = std::make_shared<Answer<T>>();
  std::thread([answer, talk = std::move(talk)] {
    auto conversation = Conversation::begin();
    auto value = conversation ? talk(*conversation) : std::move(conversation).error();
    const std::lock_guard lock(answer->mutex);
    answer->value.emplace(std::move(value));
    answer->came.notify_one();
  }).detach();
  std::unique_lock lock(answer->mutex);
  const auto until = after(kPatienceSeconds);
  if (answer->came.wait_until(lock, until, [&] { return answer->value.has_value(); }))
    return std::move(*answer->value);
  return service_error("not_responding", "the secret service does not answer",
                       "see whether it waits for something, or restart it");
}

using Nothing = std::monostate;

class SecretServiceStore final : public Store {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "secret_service"; }

  Result<Secret> get(const std::string& key) override {
    return in_time<Secret>([key](Conversation& service) -> Result<Secret> {
      SSHX_TRY(const auto items, service.find(&key));
      if (items.empty()) return not_found(key, kWhere);
      return service.secret_of(items.front().get());
    });
  }

  Status set(const std::string& key, const Secret& secret) override {
    // The thread may outlive the caller's.
    auto copy = std::make_shared<Secret>(std::string(secret.reveal()));
    return status_of(in_time<Nothing>([key, copy](Conversation& service) -> Result<Nothing> {
      SSHX_CHECK(service.create(key, *copy));
      return Nothing();
    }));
  }

  Status remove(const std::string& key) override {
    return status_of(in_time<Nothing>([key](Conversation& service) -> Result<Nothing> {
      SSHX_TRY(const auto items, service.find(&key));
      if (items.empty()) return not_found(key, kWhere);
      for (const auto& item : items) {
        SSHX_CHECK(service.remove(item.get()));
      }
      return Nothing();
    }));
  }

  Result<std::vector<std::string>> keys() override {
    return in_time<std::vector<std::string>>(
        [](Conversation& service) -> Result<std::vector<std::string>> {
          SSHX_TRY(const auto items, service.find(nullptr));
          std::vector<std::string> keys;
          for (const auto& item : items) keys.push_back(service.key_of(item.get()));
          std::sort(keys.begin(), keys.end());
          keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
          return keys;
        });
  }

 private:
  static Status status_of(Result<Nothing> result) {
    if (!result) return std::move(result).error();
    return {};
  }
};

}  // namespace

std::unique_ptr<Store> make_secret_service() { return std::make_unique<SecretServiceStore>(); }

}  // namespace sshx::secret
