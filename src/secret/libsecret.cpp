#include "secret/libsecret.h"

#include <dlfcn.h>

namespace sshx::secret {
namespace {

Error unavailable() {
  return {ErrorKind::secret, "unavailable", "libsecret is not installed here, or too old",
          "install it (apt-get install libsecret-1-0), or keep secrets in a vault: "
          "set SSHX_SECRET_BACKEND to vault"};
}

/// Looks a function up in libsecret and what it has loaded; false when it is not there.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void find(Function& function, const char* name) {
    void* symbol = dlsym(library_, name);
    complete_ = complete_ && symbol != nullptr;
    function = reinterpret_cast<Function>(symbol);
  }

  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  void* library_;
  bool complete_ = true;
};

bool find_all(void* library, Libsecret& found) {
  Symbols symbols(library);
  symbols.find(found.service_get_sync, "secret_service_get_sync");
  symbols.find(found.service_search_sync, "secret_service_search_sync");
  symbols.find(found.collection_for_alias_sync, "secret_collection_for_alias_sync");
  symbols.find(found.collection_get_locked, "secret_collection_get_locked");
  symbols.find(found.item_create_sync, "secret_item_create_sync");
  symbols.find(found.item_delete_sync, "secret_item_delete_sync");
  symbols.find(found.item_get_attributes, "secret_item_get_attributes");
  symbols.find(found.item_get_locked, "secret_item_get_locked");
  symbols.find(found.item_get_secret, "secret_item_get_secret");
  symbols.find(found.item_load_secret_sync, "secret_item_load_secret_sync");
  symbols.find(found.value_new, "secret_value_new");
  symbols.find(found.value_get, "secret_value_get");
  symbols.find(found.value_unref, "secret_value_unref");
  symbols.find(found.hash_table_new, "g_hash_table_new");
  symbols.find(found.hash_table_insert, "g_hash_table_insert");
  symbols.find(found.hash_table_lookup, "g_hash_table_lookup");
  symbols.find(found.hash_table_unref, "g_hash_table_unref");
  symbols.find(found.list_free, "g_list_free");
  symbols.find(found.object_unref, "g_object_unref");
  symbols.find(found.error_free, "g_error_free");
  symbols.find(found.dbus_error_quark, "g_dbus_error_quark");
  symbols.find(found.str_hash, "g_str_hash");
  symbols.find(found.str_equal, "g_str_equal");
  return symbols.complete();
}

}  // namespace

Result<const Libsecret*> Libsecret::load() {
  static Libsecret functions{};
  static const bool found = [] {
    void* library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find_all(library, functions);
  }();
  if (!found) return unavailable();
  return &functions;
}

}  // namespace sshx::secret
