#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/options.h"
#include "core/request.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

using Arguments = std::vector<std::string>;

Result<Invocation> parse(const Arguments& arguments) { return parse_invocation(arguments); }

/// The request that a command line makes, checked.
Json request_of(const Arguments& arguments) {
  auto parsed = parse(arguments);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  if (!parsed) return nullptr;
  auto complete = complete_request(*std::move(parsed));
  EXPECT_TRUE(complete) << (complete ? "" : complete.error().message);
  return complete ? complete->request : Json(nullptr);
}

/// The error of a command line, from parsing or from the check of its request.
Error error_of(const Arguments& arguments) {
  auto parsed = parse(arguments);
  if (!parsed) return parsed.error();
  auto complete = complete_request(*std::move(parsed));
  if (!complete) return complete.error();
  ADD_FAILURE() << "accepted: " << join(arguments, " ");
  return {};
}

TEST(ParseInvocation, JoinsTheWordsAfterTheDashesIntoTheCommand) {
  EXPECT_EQ(request_of({"run", "-t", "a", "--", "uptime"})["command"], "uptime");
  EXPECT_EQ(request_of({"run", "-t", "a", "--", "df -h | tail -1"})["command"], "df -h | tail -1");
  EXPECT_EQ(request_of({"run", "-t", "a", "--", "echo", "a b"})["command"],
            shell_command(std::vector<std::string>{"echo", "a b"}));
}

TEST(ParseInvocation, LeavesOptionsAfterTheDashesToTheCommand) {
  const auto parsed = parse({"run", "-t", "a", "--", "ls", "--json", "--help", "--", "-q"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->action, Action::run_operation);
  EXPECT_FALSE(parsed->presentation.json);
  EXPECT_EQ(parsed->request["command"],
            shell_command(std::vector<std::string>{"ls", "--json", "--help", "--", "-q"}));
}

TEST(ParseInvocation, TakesOptionsInAnyPlaceAndSpelling) {
  const Json expected = request_of({"host", "add", "web-1", "--address", "h", "--port", "2222"});
  const std::vector<Arguments> same{
      {"host", "add", "--address", "h", "--port", "2222", "web-1"},
      {"--address", "h", "host", "--port", "2222", "add", "web-1"},
      {"host", "--json", "add", "--address=h", "web-1", "--port=2222"},
      {"--port", "2222", "--address=h", "-q", "host", "add", "web-1"},
      {"--host-add", "web-1", "--address", "h", "--port", "2222"},
      {"--host-add=web-1", "--address", "h", "--port", "2222"},
      {"--address", "h", "--host-add=web-1", "--port", "2222"},
  };
  for (const auto& arguments : same)
    EXPECT_EQ(request_of(arguments), expected) << join(arguments, " ");
}

TEST(ParseInvocation, TakesShortOptions) {
  const Json expected = request_of({"run", "--target", "a", "--user", "bob", "--", "id"});
  EXPECT_EQ(request_of({"run", "-t", "a", "-l", "bob", "--", "id"}), expected);
  EXPECT_EQ(request_of({"run", "-ta", "-lbob", "--", "id"}), expected);
  EXPECT_EQ(request_of({"run", "-qt", "a", "-l", "bob", "--", "id"}), expected);
  EXPECT_TRUE(parse({"run", "-qt", "a", "--", "id"})->presentation.quiet);
}

TEST(ParseInvocation, ReadsDurationsAndSizes) {
  EXPECT_EQ(request_of({"run", "-t", "a", "--timeout", "1m30s", "--", "id"})["timeout_seconds"],
            90);
  EXPECT_EQ(request_of({"run", "-t", "a", "--timeout=500ms", "--", "id"})["timeout_seconds"], 0.5);
  EXPECT_EQ(
      request_of({"run", "-t", "a", "--max-output-bytes", "1MiB", "--", "id"})["max_output_bytes"],
      1048576);
}

TEST(ParseInvocation, CollectsListsFromRepetitionAndCommas) {
  const auto base = Arguments{"host", "add", "a", "--address", "h"};
  auto repeated = base;
  repeated.insert(repeated.end(),
                  {"--group", "web", "--group", "db", "--tag", "k=a,b", "--tag", "l=c"});
  auto commas = base;
  commas.insert(commas.end(), {"--group", "web,db", "--tag", "k=a,b", "--tag", "l=c"});
  EXPECT_EQ(request_of(repeated), request_of(commas));
  EXPECT_EQ(request_of(commas)["groups"], Json::array({"web", "db"}));
  EXPECT_EQ(request_of(commas)["tags"], Json::array({"k=a,b", "l=c"}));
}

TEST(ParseInvocation, KeepsValuesAsTheyStand) {
  const Json request = request_of({"host", "add", "a", "--address", "[::1]:22", "--description", "",
                                   "--tag", "k=[x,y]", "--identity=-key"});
  EXPECT_EQ(request["address"], "[::1]:22");
  EXPECT_EQ(request["description"], "");
  EXPECT_EQ(request["tags"], Json::array({"k=[x,y]"}));
  EXPECT_EQ(request["identity"], "-key");
  EXPECT_EQ(request_of({"host", "add", "a", "--address=h", "--description="})["description"], "");
  EXPECT_EQ(request_of({"host", "add", "a", "--address=h", "--description=a=b"})["description"],
            "a=b");
}

TEST(ParseInvocation, ReadsPresentationOptions) {
  const auto parsed =
      parse({"run", "--json", "--quiet", "--audit", "required", "--audit-db=/x", "-t", "a"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->presentation.json);
  EXPECT_TRUE(parsed->presentation.quiet);
  EXPECT_EQ(parsed->presentation.audit, "required");
  EXPECT_EQ(parsed->presentation.audit_db, "/x");
  EXPECT_EQ(parsed->request, Json({{"targets", {"a"}}}));
  EXPECT_EQ(parse({"run"})->presentation.audit, "best-effort");
}

TEST(ParseInvocation, KnowsTheTwoFormsForMachines) {
  const auto line = parse({"run", "--jsonl", "-t", "a"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->presentation.jsonl);
  EXPECT_TRUE(line->presentation.for_machines());
  EXPECT_FALSE(line->presentation.json);
  EXPECT_TRUE(parse({"run", "--json"})->presentation.for_machines());
  EXPECT_FALSE(parse({"run"})->presentation.for_machines());
}

TEST(ParseInvocation, RepeatingASwitchIsHarmless) {
  const auto parsed = parse({"run", "--json", "-t", "a", "--json", "--dry-run", "--dry-run"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->presentation.json);
  EXPECT_EQ(parsed->request["dry_run"], true);
}

TEST(ParseInvocation, SchemaAloneListsSchemas) {
  EXPECT_EQ(parse({"schema"})->operation->name, "schema.list");
  EXPECT_EQ(parse({"schema", "--json"})->operation->name, "schema.list");
  EXPECT_EQ(parse({"mcp", "--quiet"})->operation->name, "mcp.serve");
  EXPECT_EQ(parse({"mcp", "config", "claude"})->operation->name, "mcp.config");
  EXPECT_EQ(parse({"schema", "show", "run"})->operation->name, "schema.show");
}

TEST(ParseInvocation, EveryHostWordHasADashedSpelling) {
  for (const auto* word : {"add", "update", "remove", "show", "list", "trust", "test"}) {
    const auto* operation = operation_of(Arguments{fmt::format("--host-{}", word)});
    ASSERT_NE(operation, nullptr) << word;
    EXPECT_EQ(operation->name, fmt::format("host.{}", word));
  }
  EXPECT_EQ(error_of({"--audit-query"}).kind, ErrorKind::config);
}

TEST(ParseInvocation, AsksForHelp) {
  const auto topic = [](const Arguments& arguments) {
    const auto parsed = parse(arguments);
    return parsed && parsed->action == Action::help ? parsed->topic : std::string("(no help)");
  };
  EXPECT_EQ(topic({"--help"}), "");
  EXPECT_EQ(topic({"-h"}), "");
  EXPECT_EQ(topic({"host", "--help"}), "host");
  EXPECT_EQ(topic({"schema", "--help"}), "schema");
  EXPECT_EQ(topic({"--help", "host", "add"}), "host.add");
  EXPECT_EQ(topic({"run", "--targt", "x", "--help"}), "run");
  EXPECT_EQ(topic({"run", "-t", "a", "--", "ls", "--help"}), "(no help)");
  EXPECT_EQ(topic({"hots", "--help"}), "(no help)");
}

TEST(ParseInvocation, AsksForTheVersion) {
  EXPECT_EQ(parse({"--version"})->action, Action::version);
  EXPECT_FALSE(parse({"-V"})->presentation.json);
  EXPECT_TRUE(parse({"--version", "--json"})->presentation.json);
  EXPECT_TRUE(parse({"--json", "--version"})->presentation.json);
  EXPECT_EQ(error_of({"--version", "--frobnicate"}).code, "usage");
  EXPECT_EQ(error_of({"run", "--version"}).code, "unknown_option");
}

struct Refusal {
  Arguments arguments;
  std::string code;
  std::string message;
  std::string hint;
};

TEST(ParseInvocation, RefusesWithCodeNamesAndAdvice) {
  const std::vector<Refusal> refusals{
      {{}, "usage", "no operation", "--help"},
      {{"host"}, "usage", "add", "sshx host --help"},
      {{"audit"}, "usage", "query, show", "sshx audit --help"},
      {{"hots", "list"}, "unknown_command", "'hots'", "did you mean sshx host?"},
      {{"host", "lst"}, "unknown_command", "'host lst'", "did you mean sshx host list?"},
      {{"trust", "web-1"}, "unknown_command", "'trust'", "did you mean sshx host trust?"},
      {{"version"}, "unknown_command", "'version'", "did you mean sshx --version?"},
      {{"frobnicate"}, "unknown_command", "'frobnicate'", "run"},
      {{"run", "--targt", "a"}, "unknown_option", "--targt", "did you mean --target?"},
      {{"run", "--targt=a"}, "unknown_option", "--targt", "did you mean --target?"},
      {{"run", "--targe", "a"}, "unknown_option", "--targe", "did you mean --target?"},
      {{"run", "--zzzzzz"}, "unknown_option", "--zzzzzz", "sshx run --help"},
      {{"run", "-z"}, "unknown_option", "-z", ""},
      {{"--frobnicate"}, "usage", "no operation", "--help"},
      {{"host", "list", "--target", "a"}, "unknown_option", "--target", ""},
      {{"run", "-t", "a", "uptime"}, "usage", "'uptime'", "put -- before the command"},
      {{"host", "show", "a", "b"}, "usage", "'b'", "sshx host show --help"},
      {{"host", "show", "a", "--", "ls"}, "usage", "no command", ""},
      {{"run", "-t"}, "usage", "-t needs a value", ""},
      {{"run", "--target", "--", "ls"}, "usage", "--target needs a value", ""},
      {{"run", "--target", "--json"}, "usage", "--target needs a value", "--target=VALUE"},
      {{"run", "--json=yes"}, "usage", "--json takes no value", ""},
      {{"run", "--jsonl", "--json"}, "usage", "--json and --jsonl", "--jsonl"},
      {{"host", "list", "--jsonl"}, "unknown_option", "--jsonl", ""},
      {{"run", "--port", "1", "--port", "2"}, "usage", "--port is given 2 times", ""},
      {{"run", "--json", "--audit", "off", "--audit", "off"},
       "usage",
       "--audit is given 2 times",
       ""},
      {{"run", "--audit", "requird"}, "range", "audit (--audit)", "did you mean required?"},
      {{"run", "--target", ""}, "range", "targets (--target) must not be empty", ""},
      {{"run", "--target="}, "range", "targets (--target) must not be empty", ""},
      {{"run", "--port", "x"}, "type", "port (--port)", ""},
      {{"run", "--port", "22x"}, "type", "port (--port)", ""},
      {{"run", "--port", "70000"}, "range", "port (--port) must be from 1 to 65535", ""},
      {{"run", "--timeout", "soon"}, "duration", "timeout_seconds (--timeout)", ""},
      {{"run", "--max-output-bytes", "many"}, "size", "max_output_bytes (--max-output-bytes)", ""},
      {{"run", "--intent", "chnage"}, "range", "intent (--intent)", "did you mean change?"},
      {{"host", "show"}, "required", "name (NAME) is required", ""},
      {{"host", "add", "a"}, "required", "address (--address) is required", ""},
      {{"host", "add", "a", "--address", "h", "--group", "a,,b"}, "range", "groups (--group)", ""},
      {{"run", "--request", "x.json", "-t", "a"}, "request_conflict", "targets (--target)", ""},
      {{"run", "--request", "x.json", "--", "ls"}, "request_conflict", "command (after --)", ""},
      {{"host", "show", "a", "--request", "-"}, "request_conflict", "name (NAME)", ""},
  };
  for (const auto& refusal : refusals) {
    const auto error = error_of(refusal.arguments);
    const auto line = join(refusal.arguments, " ");
    EXPECT_EQ(error.kind, ErrorKind::config) << line;
    EXPECT_EQ(error.code, refusal.code) << line;
    EXPECT_THAT(error.message, testing::HasSubstr(refusal.message)) << line;
    EXPECT_THAT(error.hint, testing::HasSubstr(refusal.hint)) << line;
  }
}

// Invariant 4 (design §1): what was meant for the host may hold a secret.
TEST(ParseInvocation, RepeatsNoSecretOfAForgottenDashDash) {
  const std::vector<Arguments> lines{
      {"run", "-t", "a", "TOKEN=hunter2", "deploy"},
      {"TOKEN=hunter2", "deploy"},
      {"run", "--password=hunter2"},
      {"run", "-zhunter2"},
      {"run", "--port", "TOKEN=hunter2"},
      {"host", "add", "a", "--address", "h", "--tag", "TOKEN=hunter2\n"},
      {"run", "-t", "a", "--request-id", "TOKEN=hunter2"},
      {"--version", "TOKEN=hunter2"},
  };
  for (const auto& line : lines) {
    const auto error = error_of(line);
    EXPECT_EQ((error.message + error.hint).find("hunter2"), std::string::npos) << error.message;
  }
}

// What an agent asks for may not be hidden from the evidence (design §9).
TEST(Surface, OfAgentsKeepsTheEvidence) {
  EXPECT_EQ(parse({"run", "-t", "a", "--", "id"})->presentation.surface, Surface::cli);
  const Arguments words{"run", "--surface", "mcp", "-t", "a"};
  EXPECT_EQ(parse(words)->presentation.surface, Surface::mcp);
  const std::vector<Arguments> refused{{"--audit", "off"}, {"--audit=off"}, {"--audit-db", "f"}};
  for (const auto& options : refused) {
    auto arguments = words;
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(error_of(arguments).code, "usage") << options.front();
  }
  EXPECT_TRUE(parse({"run", "--surface", "mcp", "--audit", "required", "-t", "a"}));
  EXPECT_EQ(error_of({"run", "--surface", "mcp", "--surface", "cli", "--", "id"}).code, "usage");
}

TEST(Surface, OfAgentsHasItsOwnPropertiesAndNumbers) {
  const auto request = request_of({"run", "--surface", "mcp", "-t", "a", "--", "id"});
  EXPECT_EQ(request["timeout_seconds"], 45);
  EXPECT_EQ(request["max_output_bytes"], 24576);
  EXPECT_EQ(request["max_payload_bytes"], 4194304);
  EXPECT_FALSE(request.contains("pty"));
  EXPECT_EQ(error_of({"run", "--surface", "mcp", "--pty", "-t", "a", "--", "id"}).code,
            "unknown_property");
  EXPECT_EQ(request_of({"audit", "query", "--surface=mcp"})["limit"], 20);
  EXPECT_EQ(error_of({"audit", "query", "--surface=mcp", "--limit", "501"}).code, "range");
}

TEST(Confinement, IsAnOptionBesideTheRequest) {
  const auto parsed = parse({"run", "--allow-target=web-*,db-1", "--allow-group", "prod",
                             "--read-only", "--local-root=work", "-t", "a", "--", "id"});
  ASSERT_TRUE(parsed);
  const auto& confinement = parsed->presentation.confinement;
  EXPECT_TRUE(confinement.reach.admits("web-9", {}));
  EXPECT_TRUE(confinement.reach.admits("db-1", {}));
  EXPECT_FALSE(confinement.reach.admits("db-2", {}));
  EXPECT_TRUE(confinement.read_only);
  EXPECT_EQ(confinement.local_root, "work");
  EXPECT_FALSE(confinement.needs_local_root);
  EXPECT_EQ(parsed->request.size(), 2U);
  EXPECT_TRUE(
      parse({"run", "--surface=mcp", "-t", "a"})->presentation.confinement.needs_local_root);
  EXPECT_FALSE(parse({"host", "list"})->presentation.confinement.reach.is_limited());
  for (const Arguments& none : {Arguments{"host", "list", "--allow-target="},
                                Arguments{"host", "list", "--allow-target", "a,"},
                                Arguments{"host", "list", "--allow-group", "a*"}})
    EXPECT_EQ(error_of(none).kind, ErrorKind::config) << none.back();
}

TEST(WantsJson, LooksBeforeTheDashesOnly) {
  EXPECT_TRUE(wants_json(Arguments{"frob", "--json"}));
  EXPECT_TRUE(wants_json(Arguments{"run", "--jsonl", "--", "ls"}));
  EXPECT_FALSE(wants_json(Arguments{"run", "-t", "a", "--", "ls", "--json"}));
  EXPECT_FALSE(wants_json(Arguments{}));
}

TEST(OperationOf, IsFoundInLinesThatCannotBeParsed) {
  EXPECT_EQ(operation_of(Arguments{"run", "--targt", "a"})->name, "run");
  EXPECT_EQ(operation_of(Arguments{"--target", "host", "run"})->name, "run");
  EXPECT_EQ(operation_of(Arguments{"host"}), nullptr);
}

class RequestFile : public testing::Test {
 protected:
  std::string written(const std::string& text) {
    const auto path = testing::TempDir() + "sshx_options_test_request.json";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(RequestFile, GivesTheSameRequestAsOptions) {
  const auto path = written(R"({"targets":["web-1"],"timeout_seconds":30,"command":"uptime"})");
  EXPECT_EQ(request_of({"run", "--request", path}),
            request_of({"run", "--target", "web-1", "--timeout", "30s", "--", "uptime"}));
}

TEST_F(RequestFile, IsRefusedWithItsFault) {
  EXPECT_EQ(error_of({"run", "--request", written("{")}).code, "json");
  EXPECT_EQ(error_of({"run", "--request", written("[]")}).code, "type");
  EXPECT_EQ(error_of({"run", "--request", written(R"({"target":"a"})")}).hint,
            "did you mean targets?");
  EXPECT_EQ(error_of({"run", "--request", testing::TempDir() + "sshx_no_such_file"}).code,
            "not_found");
  const auto folder = error_of({"run", "--request", testing::TempDir()});
  EXPECT_EQ(folder.code, "not_a_file");
  EXPECT_THAT(folder.hint, testing::HasSubstr("- for standard input"));
}

/// A value of the property in its flag form and in its request form.
std::pair<std::string, Json> sample(const Property& property) {
  switch (property.type) {
  case PropertyType::integer:
    return {fmt::format("{}", *property.maximum), Json(*property.maximum)};
  case PropertyType::number:
    return {fmt::format("{}s", *property.minimum), Json(*property.minimum)};
  case PropertyType::boolean: return {"", Json(true)};
  case PropertyType::string:
  case PropertyType::string_list: break;
  }
  std::string text = "text";
  if (!property.choices.empty()) text = property.choices.front();
  if (property.pattern.find('=') != std::string_view::npos) text = "key=value";
  if (property.name == "shard") text = "1/2";
  if (property.name == "expect_plan") text = "sha256:" + std::string(64, 'a');
  if (property.name == "fingerprint") text = "SHA256:" + std::string(43, 'A');
  if (property.type == PropertyType::string) return {text, Json(text)};
  return {text, Json::array({text})};
}

// One request by construction (design §2): each flag alone, beside what is required, against its
// request form.
TEST(FlagAndRequest, AreOneRequestForEveryPropertyOfEveryOperation) {
  int compared = 0;
  for (const auto& operation : operations()) {
    Arguments words = split(operation.name, '.');
    Json base = Json::object();
    for (const auto& property : operation.properties) {
      if (!property.required) continue;
      const auto [text, value] = sample(property);
      base[std::string(property.name)] = value;
      if (!property.flag.empty()) words.push_back("--" + std::string(property.flag));
      words.push_back(property.placement == Placement::positional ? std::string(text) : text);
    }
    for (const auto& property : operation.properties) {
      if (property.flag.empty() || property.required) continue;
      const auto [text, value] = sample(property);
      auto arguments = words;
      arguments.push_back("--" + std::string(property.flag));
      if (property.type != PropertyType::boolean) arguments.push_back(text);
      Json request = base;
      request[std::string(property.name)] = value;
      const auto checked = check_request(operation, request, Surface::cli);
      ASSERT_TRUE(checked) << operation.name << " " << property.name << ": "
                           << checked.error().message;
      EXPECT_EQ(request_of(arguments), *checked) << join(arguments, " ");
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace sshx::cli
