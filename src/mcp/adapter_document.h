#pragma once

#include <string_view>

#include "core/json.h"
#include "mcp/child_process.h"

namespace sshx::mcp {

/// An Error of kind `adapter`; what to do about it follows from what is known of the call.
[[nodiscard]] Error adapter_error(std::string code, std::string message);

/// What is known of a call whose adapter failed.
struct AdapterFacts {
  std::string_view operation;
  Json run_id;                  ///< Null when not known.
  Json execution_id;            ///< Null when not known.
  Json execution;               ///< The child's document, where there is a whole one; else null.
  std::optional<ChildEnd> end;  ///< How the child ended, if there was one.
  std::string_view stderr_text;
};

/// The document sshx.adapter.v1: the adapter's own trouble, apart from what happened on a host.
/// `executed` in it is false only where no child ran.
[[nodiscard]] Json adapter_document(const Error& error, const AdapterFacts& facts);

}  // namespace sshx::mcp
