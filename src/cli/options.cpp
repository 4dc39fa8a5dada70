#include "cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/option_parser.h"
#include "cli/words.h"
#include "core/file.h"
#include "core/redact.h"
#include "core/request.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

/// Room for the largest payload as base64 and the rest of a request.
constexpr std::size_t kLargestRequest = std::size_t{128} * 1024 * 1024;
constexpr std::string_view kSourceFlag = "request";

bool is_option(std::string_view argument) noexcept {
  return argument.size() > 1 && argument.front() == '-';
}

/// An argument as messages show it: safe for a terminal, and without the secret of a command whose
/// `--` was forgotten.
std::string shown(std::string_view argument) { return printable(redact(argument)); }

/// The error that a value parser gave, naming the property.
Error at_property(const Property& property, Error error) {
  error.message = fmt::format("{}: {}", property_label(property), error.message);
  return error;
}

Result<Json> integer_value(const Property& property, const std::string& text) {
  if (property.value_name == "SIZE") {
    auto size = parse_size(text);
    if (!size) return at_property(property, std::move(size).error());
    return Json(*size);
  }
  long long number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end) {
    return config_error("type", fmt::format("{} must be an integer, not '{}'",
                                            property_label(property), shown(text)));
  }
  return Json(number);
}

Result<Json> number_value(const Property& property, const std::string& text) {
  auto seconds = parse_duration(text);
  if (!seconds) return at_property(property, std::move(seconds).error());
  return Json(*seconds);
}

Json list_value(const Property& property, const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const auto& text : texts) {
    if (!property.commas) {
      list.push_back(text);
      continue;
    }
    for (auto& item : split(text, ',')) list.push_back(std::move(item));
  }
  return list;
}

/// The request's form of what the command line gave for a property; `check_request` judges it.
Result<Json> value_of(const Property& property, const std::vector<std::string>& texts) {
  if (property.type == PropertyType::string_list) return list_value(property, texts);
  if (property.type == PropertyType::boolean) return Json(true);
  if (texts.size() > 1) {
    return config_error("usage", fmt::format("--{} is given {} times; it takes one value",
                                             property.flag, texts.size()));
  }
  if (property.type == PropertyType::integer) return integer_value(property, texts.front());
  if (property.type == PropertyType::number) return number_value(property, texts.front());
  return Json(texts.front());
}

Error unknown_option(const Operation& operation, const std::string& option) {
  // Of a short option only its letter: what follows may be a value, as in `mysql -pSECRET`.
  const auto name = option.substr(0, option.starts_with("--") ? option.find('=') : 2);
  std::vector<std::string> candidates{"--help"};
  for (const auto properties : {operation.properties, operation.presentation}) {
    for (const auto& property : properties) {
      if (!property.flag.empty()) candidates.push_back(fmt::format("--{}", property.flag));
    }
  }
  const auto words = spaced(operation.name);
  const auto near = nearest(name, candidates);
  return config_error("unknown_option", fmt::format("sshx {} has no option {}", words, shown(name)),
                      near ? fmt::format("did you mean {}?", *near)
                           : fmt::format("see sshx {} --help", words));
}

Error unexpected_word(const Operation& operation, const std::string& word) {
  const auto words = spaced(operation.name);
  const bool takes_command = std::ranges::find(operation.properties, Placement::rest,
                                               &Property::placement) != operation.properties.end();
  return config_error(
      "usage", fmt::format("unexpected word '{}' after sshx {}", shown(word), words),
      takes_command
          ? fmt::format("put -- before the command: sshx {} [options] -- COMMAND...", words)
          : fmt::format("see sshx {} --help", words));
}

/// The words in their order to the positional properties; anything else is an error.
Status place_words(const Operation& operation, const std::vector<std::string>& rest,
                   Json& request) {
  int position = 0;
  for (const auto& word : rest) {
    if (is_option(word)) return unknown_option(operation, word);
    const auto found = std::ranges::find_if(operation.properties, [&](const Property& p) {
      return p.placement == Placement::positional && p.position == position;
    });
    if (found == operation.properties.end()) return unexpected_word(operation, word);
    request[std::string(found->name)] = word;
    ++position;
  }
  return {};
}

Status place_command(const Operation& operation, const std::vector<std::string>& command,
                     Json& request) {
  if (command.empty()) return {};
  const auto rest = std::ranges::find(operation.properties, Placement::rest, &Property::placement);
  if (rest == operation.properties.end()) {
    return config_error("usage",
                        fmt::format("sshx {} takes no command after --", spaced(operation.name)));
  }
  request[std::string(rest->name)] = shell_command(command);
  return {};
}

Status place_options(const Operation& operation, const ParsedOptions& parsed, Json& request) {
  for (const auto& property : operation.properties) {
    const auto given = parsed.values.find(property.flag);
    if (property.flag.empty() || given == parsed.values.end()) continue;
    SSHX_TRY(request[std::string(property.name)], value_of(property, given->second));
  }
  return {};
}

/// The presentation options as an object, checked like a request.
Result<Json> presentation_values(const Operation& operation, const ParsedOptions& parsed) {
  Json values = Json::object();
  for (const auto& property : operation.presentation) {
    const auto given = parsed.values.find(property.flag);
    if (given == parsed.values.end()) continue;
    SSHX_TRY(const Json value, value_of(property, given->second));
    SSHX_TRY(values[std::string(property.name)], check_property(property, value));
  }
  return values;
}

/// That the options which say what the answer looks like go together.
Status check_form(const Presentation& presentation) {
  if (presentation.json && presentation.jsonl) {
    return config_error("usage", "--json and --jsonl do not go together",
                        "give --json for one document, or --jsonl for a line for each event");
  }
  if (presentation.stream && !presentation.jsonl) {
    return config_error("usage", "--stream is for --jsonl",
                        "add --jsonl; without --json, output comes as it is printed anyway");
  }
  return {};
}

Status place_presentation(const Operation& operation, const ParsedOptions& parsed,
                          Invocation& invocation) {
  SSHX_TRY(const Json values, presentation_values(operation, parsed));
  auto& presentation = invocation.presentation;
  presentation.json = values.value("json", false);
  presentation.jsonl = values.value("jsonl", false);
  presentation.stream = values.value("stream", false);
  SSHX_CHECK(check_form(presentation));
  presentation.quiet = values.value("quiet", false);
  presentation.gather = values.value("gather", false);
  presentation.safe_output = values.value("safe_output", false);
  presentation.die_with_parent = values.value("die_with_parent", false);
  presentation.audit = values.value("audit", presentation.audit);
  presentation.audit_db = values.value("audit_db", std::string());
  if (values.value("surface", std::string()) == "mcp") presentation.surface = Surface::mcp;
  presentation.confinement = exec::confinement_of(values);
  presentation.confinement.needs_local_root = presentation.surface == Surface::mcp;
  if (values.contains(kSourceFlag)) invocation.request_source = values[std::string(kSourceFlag)];
  return {};
}

/// What an agent asks for leaves evidence, and in the store that its operator reads.
Status refuse_relaxed_evidence(const Presentation& presentation) {
  if (presentation.surface == Surface::cli) return {};
  const bool off = presentation.audit == "off";
  if (!off && presentation.audit_db.empty()) return {};
  return config_error(
      "usage",
      fmt::format("{} is not available with --surface mcp", off ? "--audit off" : "--audit-db"),
      "what an agent does is kept in the default evidence: leave it out");
}

Status refuse_two_sources(const Invocation& invocation) {
  if (!invocation.request_source || invocation.request.empty()) return {};
  const auto name = invocation.request.begin().key();
  return config_error("request_conflict",
                      fmt::format("--request gives the whole request, and {} is given beside it",
                                  property_label(*find_property(*invocation.operation, name))),
                      "put it into the request, or give every option on the command line");
}

Result<Invocation> version_invocation(const Words& words) {
  Invocation invocation;
  invocation.action = Action::version;
  for (const auto& argument : words.arguments) {
    if (argument != "--json") {
      return config_error("usage", fmt::format("--version does not go with {}", shown(argument)),
                          "sshx --version [--json]");
    }
    invocation.presentation.json = true;
  }
  return invocation;
}

Result<Invocation> operation_invocation(Words& words) {
  const Operation& operation = *words.operation;
  if (words.version) return unknown_option(operation, "--version");
  Invocation invocation;
  invocation.operation = &operation;
  SSHX_TRY(const ParsedOptions parsed, parse_options(operation, words.arguments));
  SSHX_CHECK(place_words(operation, parsed.rest, invocation.request));
  SSHX_CHECK(place_options(operation, parsed, invocation.request));
  SSHX_CHECK(place_command(operation, words.command, invocation.request));
  SSHX_CHECK(place_presentation(operation, parsed, invocation));
  SSHX_CHECK(refuse_relaxed_evidence(invocation.presentation));
  SSHX_CHECK(refuse_two_sources(invocation));
  return invocation;
}

std::string name_of_source(const std::string& source) {
  return source == "-" ? "standard input" : source;
}

Result<std::string> request_text(const std::string& source) {
  auto text = source == "-" ? read_all(STDIN_FILENO, kLargestRequest, name_of_source(source))
                            : read_file(source, kLargestRequest);
  if (!text && text.error().hint.empty()) {
    text.error().hint = "--request takes the path of a JSON file, or - for standard input";
  }
  return text;
}

/// Of a request that came from stdin: nothing else can come from there.
Status refuse_stdin_again(const Json& request) {
  const bool names = request.value("hosts_from", std::string()) == "-";
  if (!names && !request.value("stdin_inherit", false)) return {};
  return config_error("request_conflict",
                      fmt::format("{}: stdin has already given the request",
                                  names ? "hosts_from" : "stdin_inherit"),
                      "read the request from a file: --request FILE");
}

bool names_unknown(const Words& words) {
  return words.problem && words.problem->code == "unknown_command";
}

}  // namespace

Result<Invocation> parse_invocation(std::span<const std::string> arguments) {
  auto words = find_words(arguments);
  if (words.help && !names_unknown(words)) {
    Invocation invocation;
    invocation.action = Action::help;
    invocation.operation = words.operation;
    invocation.topic = words.path;
    return invocation;
  }
  if (words.problem) return *words.problem;
  if (words.operation == nullptr) return version_invocation(words);
  return operation_invocation(words);
}

Result<Invocation> complete_request(Invocation invocation) {
  if (invocation.request_source) {
    const auto& source = *invocation.request_source;
    SSHX_TRY(const std::string text, request_text(source));
    SSHX_TRY(invocation.request, parse_json(text, "the request in " + name_of_source(source)));
  }
  SSHX_TRY(invocation.request, check_request(*invocation.operation, invocation.request,
                                             invocation.presentation.surface));
  if (invocation.request_source == "-") {
    SSHX_CHECK(refuse_stdin_again(invocation.request));
  }
  return invocation;
}

bool wants_json(std::span<const std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), dashes,
                     [](const std::string& a) { return a == "--json" || a == "--jsonl"; });
}

const Operation* operation_of(std::span<const std::string> arguments) {
  return find_words(arguments).operation;
}

}  // namespace sshx::cli
