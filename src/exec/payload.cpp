#include "exec/payload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/sha256.h"
#include "core/shell_quote.h"
#include "core/text.h"
#include "core/utf8.h"

namespace sshx::exec {
namespace {

/// libssh2 sends the exec request in one packet of at most 35,000 bytes.
constexpr std::size_t kLongestRequest = 32000;
constexpr std::array<std::string_view, 6> kShells{"sh", "bash", "zsh", "dash", "ksh", "ash"};

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// What stands in every shell's single quotes, and in sh's double quotes, for itself.
bool is_plain(char c) {
  return is_name_character(c) || std::string_view(" ./:=@%+,-").find(c) != std::string_view::npos;
}

/// `text` for printf's %b: everything that any shell could read differently as an octal escape.
std::string octal_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size() * 2);
  for (const char c : text) {
    if (is_plain(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("\\0{:03o}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

/// A POSIX shell's text as a command for any login shell.
std::string for_any_shell(std::string_view script) {
  // The dot keeps newlines at the end, which $( ) would drop.
  return fmt::format(R"(exec /bin/sh -c 'c=$(printf %b "{}."); eval "${{c%.}}"')",
                     octal_escaped(script));
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

bool is_known_shell(std::string_view program) {
  return std::find(kShells.begin(), kShells.end(), base_name(program)) != kShells.end();
}

bool is_option(std::string_view word) {
  return word.size() > 1 && (word.front() == '-' || word.front() == '+') &&
         std::all_of(word.begin() + 1, word.end(),
                     [](char c) { return is_name_character(c) || c == '-'; });
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const auto start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const auto end = std::min(line.find_first_of(" \t\r"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

/// The words of a "#!" line, with env(1) looked through; empty where there is no such line.
std::vector<std::string> named_interpreter(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  auto words = words_of(script.substr(2, script.find('\n') - 2));
  if (words.empty() || base_name(words.front()) != "env") return words;
  words.erase(words.begin());
  if (!words.empty() && words.front() == "-S") words.erase(words.begin());
  return words;
}

Error unknown_interpreter(std::string_view name) {
  return config_error("interpreter",
                      fmt::format("the script's first line names \"{}\", which is not one of {}",
                                  printable(name), fmt::join(kShells, ", ")),
                      "use one of these, or copy the script to the host and run it there");
}

Status check_variable(const std::string& variable) {
  const auto equals = variable.find('=');
  const auto name = std::string_view(variable).substr(0, equals);
  const bool valid = equals != std::string::npos && !name.empty() &&
                     (name.front() < '0' || name.front() > '9') &&
                     std::all_of(name.begin(), name.end(), is_name_character);
  if (valid) return {};
  return config_error("environment",
                      fmt::format("\"{}\" is no variable that can be set", printable(name)),
                      "write NAME=VALUE, the name in letters, digits and _");
}

Result<std::string> script_text(const Json& request, std::size_t limit,
                                const Confinement& confinement) {
  if (request.contains("script")) return request["script"].get<std::string>();
  if (request.value("script_stdin", false)) return read_all(STDIN_FILENO, limit, "stdin");
  return read_local_file(confinement, request["script_file"].get<std::string>(), limit);
}

Result<Payload> read_script(const Json& request, std::size_t limit,
                            const Confinement& confinement) {
  Payload payload;
  SSHX_TRY(payload.bytes, within_limit(script_text(request, limit, confinement), limit,
                                       "the script", "raise --max-payload-bytes"));
  if (payload.bytes.text().empty())
    return config_error("required", "the script is empty", "give at least one line");
  SSHX_TRY(payload.interpreter,
           choose_interpreter(payload.bytes.text(), request.value("shell", std::string())));
  return payload;
}

int sources_of(const Json& request) {
  int sources = request.value("command", std::string()).empty() ? 0 : 1;
  sources += request.contains("script") ? 1 : 0;
  sources += request.contains("script_file") ? 1 : 0;
  sources += request.value("script_stdin", false) ? 1 : 0;
  return sources;
}

Status check_sources(const Json& request) {
  const int sources = sources_of(request);
  if (sources == 0) {
    return config_error("required", "no command is given",
                        "put it after --, as in: sshx run --target NAME -- uptime; or use "
                        "--script-file or --script-stdin");
  }
  if (sources > 1) {
    return config_error("request_conflict", "more than one command or script is given",
                        "use one of: a command after --, --script-file, --script-stdin, script");
  }
  if (request.value("pty", false) && request.value("command", std::string()).empty()) {
    return config_error("request_conflict", "a script cannot have a terminal",
                        "its stdin carries the script; run a command with --pty instead");
  }
  if (request.contains("shell") && !request.value("command", std::string()).empty()) {
    return config_error("request_conflict", "--shell is for scripts, and this is a command",
                        "a command runs in the account's login shell");
  }
  return {};
}

/// The POSIX text that sets folder and variables; each failure ends it before anything runs.
std::string prologue(const Payload& payload) {
  std::string text;
  for (const auto& variable : payload.environment) {
    const auto equals = variable.find('=');
    text += fmt::format("export {}={} || exit; ", variable.substr(0, equals),
                        shell_quote(variable.substr(equals + 1)));
  }
  if (payload.directory.empty()) return text;
  // "./" keeps CDPATH and the meaning of "-" out of it (POSIX.1-2017, cd).
  const auto* here = payload.directory.starts_with('/') ? "" : "./";
  return text + fmt::format("cd -- {} || exit; ", shell_quote(here + payload.directory));
}

/// Reads the script from descriptor 3. A socket, which some servers give as stdin, cannot be opened
/// again by name, so cat carries the script into a pipe there.
std::string script_runner(const Interpreter& interpreter) {
  std::string words = shell_quote(interpreter.program);
  for (const auto& option : interpreter.options) words += " " + shell_quote(option);
  const auto reader = fmt::format("{} /dev/fd/3 3<&0 </dev/null", words);
  return fmt::format("[ -p /dev/fd/0 ] && exec {0}; cat | {0}", reader);
}

}  // namespace

PayloadBytes::PayloadBytes(std::string bytes)
    : content_(std::make_shared<const Content>(Content{bytes, sha256_label(bytes)})) {}

std::string Interpreter::text() const {
  return options.empty() ? program : fmt::format("{} {}", program, join(options, " "));
}

Result<Interpreter> choose_interpreter(std::string_view script, const std::string& shell) {
  if (!shell.empty()) return Interpreter{shell, {}};
  auto words = named_interpreter(script);
  if (words.empty()) return Interpreter{"sh", {}};
  if (!is_known_shell(words.front())) return unknown_interpreter(words.front());
  Interpreter interpreter{words.front(), {words.begin() + 1, words.end()}};
  const auto odd =
      std::find_if_not(interpreter.options.begin(), interpreter.options.end(), is_option);
  if (odd != interpreter.options.end()) {
    return config_error("interpreter",
                        fmt::format("the script's first line has \"{}\", which is no option of a "
                                    "shell",
                                    printable(*odd)),
                        "choose the interpreter with --shell");
  }
  return interpreter;
}

Result<std::string> within_limit(Result<std::string> read, std::size_t limit, std::string_view what,
                                 std::string hint) {
  const bool too_large = read ? read->size() > limit : read.error().code == "too_large";
  if (!too_large) return read;
  return config_error("payload_too_large", fmt::format("{} has more than {} bytes", what, limit),
                      std::move(hint));
}

Result<Payload> read_payload(const Json& request, std::size_t limit,
                             const Confinement& confinement) {
  SSHX_CHECK(check_sources(request));
  const auto command = request.value("command", std::string());
  Payload payload;
  if (command.empty()) {
    SSHX_TRY(payload, read_script(request, limit, confinement));
  } else {
    payload.bytes = command;
  }
  payload.directory = request.value("cwd", std::string());
  payload.environment = request.value("env", std::vector<std::string>());
  payload.terminal = request.value("pty", false);
  for (const auto& variable : payload.environment) {
    SSHX_CHECK(check_variable(variable));
  }
  const auto size = exec_request(payload).size();
  if (size > kLongestRequest) {
    return config_error("range",
                        fmt::format("the command takes {} bytes to send, with --cwd and --env; at "
                                    "most {} can be sent",
                                    size, kLongestRequest),
                        "send a long one as a script: --script-file FILE");
  }
  return payload;
}

std::string exec_request(const Payload& payload) {
  const bool plain =
      !payload.interpreter && payload.directory.empty() && payload.environment.empty();
  if (plain) return payload.bytes.text();
  const auto start = prologue(payload);
  if (payload.interpreter) return for_any_shell(start + script_runner(*payload.interpreter));
  // The login shell as sshd named it, whatever --env makes of SHELL; and bash, which takes its
  // first start by sshd for a login (SHLVL), does not read its start-up file a second time.
  return for_any_shell(
      fmt::format(R"(set -- "${{SHELL:-/bin/sh}}"; export SHLVL=1; {}exec "$1" -c {})", start,
                  shell_quote(payload.bytes.text())));
}

}  // namespace sshx::exec
