#pragma once

#include <libsecret/secret.h>

#include "core/result.h"

namespace sshx::secret {

/// libsecret and what it needs of GLib, loaded when first asked for and never unloaded. A member
/// has the name of the function without its prefix.
struct Libsecret {
  decltype(&::secret_service_get_sync) service_get_sync;
  decltype(&::secret_service_search_sync) service_search_sync;
  decltype(&::secret_collection_for_alias_sync) collection_for_alias_sync;
  decltype(&::secret_collection_get_locked) collection_get_locked;
  decltype(&::secret_item_create_sync) item_create_sync;
  decltype(&::secret_item_delete_sync) item_delete_sync;
  decltype(&::secret_item_get_attributes) item_get_attributes;
  decltype(&::secret_item_get_locked) item_get_locked;
  decltype(&::secret_item_get_secret) item_get_secret;
  decltype(&::secret_item_load_secret_sync) item_load_secret_sync;
  decltype(&::secret_value_new) value_new;
  decltype(&::secret_value_get) value_get;
  decltype(&::secret_value_unref) value_unref;
  decltype(&::g_hash_table_new) hash_table_new;
  decltype(&::g_hash_table_insert) hash_table_insert;
  decltype(&::g_hash_table_lookup) hash_table_lookup;
  decltype(&::g_hash_table_unref) hash_table_unref;
  decltype(&::g_list_free) list_free;
  decltype(&::g_object_unref) object_unref;
  decltype(&::g_error_free) error_free;
  decltype(&::g_dbus_error_quark) dbus_error_quark;
  decltype(&::g_str_hash) str_hash;
  decltype(&::g_str_equal) str_equal;

  /// Returns: secret (`unavailable`: it is not installed, or too old).
  [[nodiscard]] static Result<const Libsecret*> load();
};

}  // namespace sshx::secret
