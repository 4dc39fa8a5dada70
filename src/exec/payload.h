#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "exec/confinement.h"

namespace sshx::exec {

/// The program that reads a script, with the options its "#!" line gives it.
struct Interpreter {
  std::string program;  ///< "bash", or a path as the "#!" line has it.
  std::vector<std::string> options;

  /// "/bin/bash -e"
  [[nodiscard]] std::string text() const;
};

/// Bytes that never change, which copies share: a run on many targets holds and hashes them once.
class PayloadBytes {
 public:
  PayloadBytes() : PayloadBytes(std::string()) {}
  // Implicit, since it stands for the bytes.
  PayloadBytes(std::string bytes);  // NOLINT(google-explicit-constructor)
  PayloadBytes(const char* text)
      : PayloadBytes(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const std::string& text() const noexcept { return content_->bytes; }
  /// "sha256:..." of them.
  [[nodiscard]] const std::string& digest() const noexcept { return content_->digest; }

 private:
  struct Content {
    std::string bytes;
    std::string digest;
  };
  std::shared_ptr<const Content> content_;
};

/// What a run makes the host do: a command for the account's login shell, or a script for an
/// interpreter, in a folder and with variables if wanted.
struct Payload {
  PayloadBytes bytes;                      ///< The command, or the script exactly as it was given.
  std::optional<Interpreter> interpreter;  ///< For a script.
  std::string directory;                   ///< Empty: where the login shell starts.
  std::vector<std::string> environment;    ///< "NAME=value"
  bool terminal = false;                   ///< With a pseudo-terminal (RFC 4254 §6.2).
};

/// The interpreter of a script: `shell` if it is not empty (the descriptor lists which there are),
/// else what its "#!" line names, else sh.
/// Only sh, bash, zsh, dash, ksh and ash read a script from a stream as this needs it.
/// Returns: config (`interpreter`).
[[nodiscard]] Result<Interpreter> choose_interpreter(std::string_view script,
                                                     const std::string& shell);

/// `read`, a whole of `what` ("stdin"), unless it has more than `limit` bytes.
/// Returns: config (`payload_too_large`, with `hint`), the error of `read`.
[[nodiscard]] Result<std::string> within_limit(Result<std::string> read, std::size_t limit,
                                               std::string_view what, std::string hint);

/// What of `request` makes the payload; a script file is read, at most `limit` bytes, where
/// `confinement` lets it.
/// Returns: config (`required`, `request_conflict`, `range`, `interpreter`, `environment`,
/// `payload_too_large`, `base64`), local_io, what read_local_file returns.
[[nodiscard]] Result<Payload> read_payload(const Json& request, std::size_t limit,
                                           const Confinement& confinement = {});

/// The text of the exec request (RFC 4254 §6.5). A plain command goes as it stands. Anything else
/// is wrapped so that login shells that are not POSIX (fish, csh) hand it on untouched; a command
/// still runs in the login shell then, after the folder and the variables were set. A script is
/// not in it: it is sent on the channel's stdin and read from descriptor 3, so that nothing it
/// runs can read it away; its own stdin is empty.
[[nodiscard]] std::string exec_request(const Payload& payload);

}  // namespace sshx::exec
