#include "cli/secret_command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/hidden_line.h"
#include "core/file.h"
#include "secret/store.h"

namespace sshx::cli {
namespace {

constexpr std::size_t kLongestSecret = 4096;

/// The same line twice.
Result<Secret> ask_twice(const std::string& question, std::string_view hint) {
  SSHX_TRY(auto first, ask_hidden(question + ": ", hint));
  SSHX_TRY(const auto second, ask_hidden(question + ", again: ", hint));
  if (first.reveal() == second.reveal()) return first;
  return config_error("secret_text", "the two lines differ", "try again");
}

Result<Secret> ask_passphrase(const std::string& file, bool is_new) {
  if (is_new) return ask_twice("Passphrase for the new vault " + file, secret::kPassphraseHint);
  return ask_hidden("Passphrase of the vault " + file + ": ", secret::kPassphraseHint);
}

/// One line of stdin, which has no other.
Result<Secret> line_of_stdin() {
  SSHX_TRY(auto text, read_all(STDIN_FILENO, kLongestSecret, "standard input"));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return Secret(std::move(text));
}

/// It goes to a host as one line, so it has to be one.
Status check_line(const Secret& secret) {
  const auto text = secret.reveal();
  if (text.empty()) return config_error("secret_text", "the secret is empty", "give one line");
  if (text.find_first_of(std::string_view("\n\r\0", 3)) == std::string_view::npos) return {};
  return config_error("secret_text", "the secret has more than one line, or a NUL byte",
                      "a password or passphrase is one line");
}

Result<Secret> given_secret(const std::string& key) {
  constexpr std::string_view kHint = "hand the secret over on stdin";
  auto secret = isatty(STDIN_FILENO) == 1 ? ask_twice("Secret for " + key, kHint) : line_of_stdin();
  if (!secret) return secret;
  SSHX_CHECK(check_line(*secret));
  return secret;
}

/// The document with --json; else `note`, which --quiet hides.
Result<int> answer(const Invocation& invocation, const Terminal& terminal,
                   const secret::Store& store, const std::vector<std::string>& keys,
                   std::string_view note) {
  if (!invocation.presentation.json) {
    terminal.note(note);
    return 0;
  }
  const Json document = {{"schema_version", "sshx.secrets.v1"},
                         {"operation", invocation.operation->name},
                         {"success", true},
                         {"backend", store.name()},
                         {"count", keys.size()},
                         {"keys", keys}};
  SSHX_CHECK(Terminal::out(dump_json(document) + "\n"));
  return 0;
}

/// Refuses whatever shows a secret or keeps it.
Status check_pipe() {
  struct stat facts {};

  if (fstat(Terminal::output_descriptor(), &facts) == 0 &&
      (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)))
    return {};
  return config_error("not_a_pipe", "a secret is printed into a pipe only",
                      "pipe it to the program that needs it: sshx secret get KEY | PROGRAM");
}

Result<int> set(const Invocation& invocation, const Terminal& terminal, secret::Store& store,
                const std::string& key) {
  SSHX_TRY(const auto secret, given_secret(key));
  SSHX_CHECK(store.set(key, secret));
  return answer(invocation, terminal, store, {key}, fmt::format("{} is set", key));
}

Result<int> get(secret::Store& store, const std::string& key) {
  SSHX_CHECK(check_pipe());
  SSHX_TRY(const auto secret, store.get(key));
  SSHX_CHECK(Terminal::out(secret.reveal()));
  return 0;
}

Result<int> check(const Invocation& invocation, const Terminal& terminal, secret::Store& store,
                  const std::string& key) {
  SSHX_TRY(const auto secret, store.get(key));
  return answer(invocation, terminal, store, {key}, fmt::format("{} is there", key));
}

Result<int> remove(const Invocation& invocation, const Terminal& terminal, secret::Store& store,
                   const std::string& key) {
  SSHX_CHECK(store.remove(key));
  return answer(invocation, terminal, store, {key}, fmt::format("{} is deleted", key));
}

Result<int> list(const Invocation& invocation, const Terminal& terminal, secret::Store& store) {
  SSHX_TRY(const auto keys, store.keys());
  if (invocation.presentation.json || keys.empty())
    return answer(invocation, terminal, store, keys,
                  "no secrets yet; add one: sshx secret set KEY");
  std::string lines;
  for (const auto& key : keys) lines += key + "\n";
  SSHX_CHECK(Terminal::out(lines));
  return 0;
}

}  // namespace

Result<int> run_secret_command(const Invocation& invocation, const Terminal& terminal) {
  SSHX_TRY(const auto store, secret::open_store(ask_passphrase));
  const auto name = invocation.operation->name;
  if (name == "secret.list") return list(invocation, terminal, *store);
  const auto key = invocation.request["key"].get<std::string>();
  if (name == "secret.set") return set(invocation, terminal, *store, key);
  if (name == "secret.get") return get(*store, key);
  if (name == "secret.check") return check(invocation, terminal, *store, key);
  return remove(invocation, terminal, *store, key);
}

}  // namespace sshx::cli
