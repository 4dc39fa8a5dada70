#include <gmock/gmock.h>

#include "core/shell_quote.h"
#include "exec/payload.h"
#include "unit/exec/samples.h"

namespace sshx::exec {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::size_t kLimit = 1000;

std::string interpreter_of(std::string_view script, const std::string& shell = "") {
  const auto chosen = choose_interpreter(script, shell);
  return chosen ? chosen->text() : chosen.error().code;
}

TEST(ChooseInterpreterTest, TakesTheFirstLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"echo hi\n", "sh"},
      {"", "sh"},
      {"# !/bin/bash\n", "sh"},
      {" #!/bin/bash\n", "sh"},
      {"\n#!/bin/bash\n", "sh"},
      {"#!\n", "sh"},
      {"#!  \n", "sh"},
      {"#!/usr/bin/env\n", "sh"},
      {"#!/bin/sh\n", "/bin/sh"},
      {"#!/bin/bash", "/bin/bash"},
      {"#!/bin/bash\r\necho\r\n", "/bin/bash"},
      {"#! /bin/bash\n", "/bin/bash"},
      {"#!\t/bin/bash\t-e \n", "/bin/bash -e"},
      {"#!/bin/bash -e -u\n", "/bin/bash -e -u"},
      {"#!/bin/bash -eu\n", "/bin/bash -eu"},
      {"#!/bin/bash --norc\n", "/bin/bash --norc"},
      {"#!/bin/bash +x\n", "/bin/bash +x"},
      {"#!/opt/odd place/bash\n", "interpreter"},
      {"#!/usr/local/bin/zsh -f\n", "/usr/local/bin/zsh -f"},
      {"#!/usr/bin/env bash\n", "bash"},
      {"#!/usr/bin/env -S bash -eu\n", "bash -eu"},
      {"#!/bin/env dash\n", "dash"},
      {"#!dash\n", "dash"},
  };
  for (const auto& [script, interpreter] : cases)
    EXPECT_EQ(interpreter_of(script), interpreter) << script;
}

TEST(ChooseInterpreterTest, KnowsSixShellsByName) {
  for (const std::string shell : {"sh", "bash", "zsh", "dash", "ksh", "ash"}) {
    EXPECT_EQ(interpreter_of("echo\n", shell), shell);
    EXPECT_EQ(interpreter_of("#!/usr/bin/" + shell + "\n"), "/usr/bin/" + shell);
    EXPECT_EQ(interpreter_of("#!/usr/bin/env " + shell + "\n"), shell);
  }
}

TEST(ChooseInterpreterTest, TheCallersWordIsBeforeTheFirstLine) {
  EXPECT_EQ(interpreter_of("#!/bin/bash -e\n", "dash"), "dash");
  EXPECT_EQ(interpreter_of("#!/usr/bin/python3\n", "bash"), "bash");
}

TEST(ChooseInterpreterTest, AnyOtherIsRefusedByName) {
  for (const std::string first :
       {"/usr/bin/python3", "/usr/bin/env python3", "/usr/bin/perl -w", "/opt/fish", "/bin/tcsh",
        "/usr/bin/env -S python3 -u", "/bin/bashful", "/bin/", "/usr/bin/env -i bash",
        "/usr/bin/env A=1 bash", "/bin/busybox sh", "/bin/\x1b[31m", "/bin/BASH"}) {
    const auto chosen = choose_interpreter("#!" + first + "\necho\n", "");
    ASSERT_FALSE(chosen.has_value()) << first;
    EXPECT_EQ(chosen.error().kind, ErrorKind::config) << first;
    EXPECT_EQ(chosen.error().code, "interpreter") << first;
    EXPECT_EQ(chosen.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(ChooseInterpreterTest, WhatIsNoOptionIsRefused) {
  for (const std::string options : {"script.sh", "-", "-e;id", "-o$x", "-e'"}) {
    const auto chosen = choose_interpreter("#!/bin/bash " + options + "\n", "");
    ASSERT_FALSE(chosen.has_value()) << options;
    EXPECT_EQ(chosen.error().code, "interpreter") << options;
  }
}

/// What is made of a request for "kind/code", or "ok".
std::string outcome_of(const Json& request, std::size_t limit = kLimit) {
  const auto payload = read_payload(request, limit);
  if (payload) return "ok";
  return std::string(to_string(payload.error().kind)) + "/" + payload.error().code;
}

TEST(ReadPayloadTest, AnAgentNamesFilesBeneathTheRootOnly) {
  const test::ScratchFolder folder;
  test::write_file(folder.file("script"), "true\n");
  Confinement confinement;
  confinement.needs_local_root = true;
  const auto outcome = [&](const std::string& name) {
    return test::outcome_of(read_payload({{"script_file", name}}, kLimit, confinement));
  };
  EXPECT_EQ(outcome(folder.file("script")), "blocked/no_local_root");
  confinement.local_root = folder.path();
  EXPECT_EQ(outcome("script"), "ok");
  EXPECT_EQ(outcome(folder.file("script")), "ok");
  EXPECT_EQ(outcome("../script"), "blocked/outside_local_root");
  EXPECT_EQ(outcome("/etc/passwd"), "blocked/outside_local_root");
  EXPECT_EQ(outcome("~/script"), "blocked/outside_local_root");
}

TEST(ReadPayloadTest, OneCommandOrOneScript) {
  EXPECT_EQ(outcome_of({{"command", "true"}}), "ok");
  EXPECT_EQ(outcome_of({{"script", "true\n"}}), "ok");
  EXPECT_EQ(outcome_of(Json::object()), "config/required");
  EXPECT_EQ(outcome_of({{"command", ""}}), "config/required");
  EXPECT_EQ(outcome_of({{"shell", "bash"}}), "config/required");
  EXPECT_EQ(outcome_of({{"script", ""}}), "config/required");
  for (const Json& two :
       {Json{{"command", "true"}, {"script", "true"}},
        Json{{"command", "true"}, {"script_file", "/x"}},
        Json{{"command", "true"}, {"script_stdin", true}},
        Json{{"script", "true"}, {"script_file", "/x"}},
        Json{{"script", "true"}, {"script_stdin", true}},
        Json{{"script_file", "/x"}, {"script_stdin", true}},
        Json{{"script", "true"}, {"pty", true}}, Json{{"command", "true"}, {"shell", "bash"}}})
    EXPECT_EQ(outcome_of(two), "config/request_conflict") << dump_json(two);
}

TEST(ReadPayloadTest, ACommandIsTakenAsItStands) {
  const auto payload = read_payload({{"command", "echo 'a  b'\n"}, {"pty", true}}, kLimit);
  ASSERT_TRUE(payload.has_value());
  EXPECT_EQ(payload->bytes.text(), "echo 'a  b'\n");
  EXPECT_FALSE(payload->interpreter.has_value());
  EXPECT_TRUE(payload->terminal);
  EXPECT_EQ(payload->directory, "");
  EXPECT_THAT(payload->environment, IsEmpty());
}

TEST(PayloadBytesTest, CopiesShareTheBytes) {
  const PayloadBytes bytes("echo");
  const auto copy = bytes;
  EXPECT_EQ(&copy.text(), &bytes.text());
  EXPECT_EQ(copy.digest(), sha256_label("echo"));
}

// The bytes go to the interpreter, so nothing may be made of them here.
TEST(ReadPayloadTest, AScriptFileIsTakenByteForByte) {
  const test::ScratchFolder folder;
  const std::string bytes = "#!/bin/sh\r\n\x00\xff\xfe no end of line"s;
  test::write_file(folder.file("script"), bytes);
  const auto payload = read_payload({{"script_file", folder.file("script")}}, kLimit);
  ASSERT_TRUE(payload.has_value());
  EXPECT_EQ(payload->bytes.text(), bytes);
  EXPECT_EQ(payload->interpreter->text(), "/bin/sh");
}

TEST(ReadPayloadTest, AScriptFileThatCannotBeRead) {
  const test::ScratchFolder folder;
  EXPECT_EQ(outcome_of({{"script_file", folder.file("absent")}}), "local_io/not_found");
  EXPECT_EQ(outcome_of({{"script_file", folder.path().string()}}), "local_io/not_a_file");
  test::write_file(folder.file("empty"), "");
  EXPECT_EQ(outcome_of({{"script_file", folder.file("empty")}}), "config/required");
}

TEST(ReadPayloadTest, ScriptsAreMeasured) {
  const test::ScratchFolder folder;
  test::write_file(folder.file("ten"), "echo 6789\n");
  EXPECT_EQ(outcome_of({{"script_file", folder.file("ten")}}, 10), "ok");
  EXPECT_EQ(outcome_of({{"script_file", folder.file("ten")}}, 9), "config/payload_too_large");
  EXPECT_EQ(outcome_of({{"script", "echo 6789\n"}}, 10), "ok");
  EXPECT_EQ(outcome_of({{"script", "echo 6789\n"}}, 9), "config/payload_too_large");
}

TEST(ReadPayloadTest, VariablesThatCannotBeSetAreRefused) {
  for (const std::string variable :
       {"A=", "A=1", "_=x", "A1_b=x=y", "A= spaces and 'quotes' ", "a=\n"})
    EXPECT_EQ(outcome_of({{"command", "true"}, {"env", {variable}}}), "ok") << variable;
  for (const std::string& variable : {"A"s, "=x"s, "1A=x"s, "A-B=x"s, "A B=x"s, " A=x"s, "A.B=x"s,
                                      "A;id=x"s, "A$(id)=x"s, "A+=x"s, "A[0]=x"s, "\xC3\xBC=x"s})
    EXPECT_EQ(outcome_of({{"command", "true"}, {"env", {variable}}}), "config/environment")
        << variable;
}

TEST(ReadPayloadTest, WhatDoesNotFitInARequestIsRefused) {
  EXPECT_EQ(outcome_of({{"command", std::string(32000, 'x')}}), "ok");
  EXPECT_EQ(outcome_of({{"command", std::string(32001, 'x')}}), "config/range");
  // Escaped, each newline takes more than one byte.
  EXPECT_EQ(outcome_of({{"command", "true"}, {"env", {"A=" + std::string(16000, '\n')}}}),
            "config/range");
  EXPECT_EQ(outcome_of({{"command", "true"}, {"env", {"A=" + std::string(16000, 'x')}}}), "ok");
  // A script goes another way.
  EXPECT_EQ(outcome_of({{"script", std::string(100000, 'x')}}, 100000), "ok");
}

Payload command_in(const std::string& directory) {
  return {.bytes = "echo \"it's\" $HOME !x \\n",
          .interpreter = {},
          .directory = directory,
          .environment = {}};
}

TEST(ExecRequestTest, APlainCommandGoesAsItStands) {
  Payload payload = command_in("");
  EXPECT_EQ(exec_request(payload), payload.bytes.text());
  payload.terminal = true;
  EXPECT_EQ(exec_request(payload), payload.bytes.text());
}

/// The word in the one pair of quotes of a wrapped request.
std::string quoted_word(const std::string& request) {
  const std::string start = "exec /bin/sh -c '";
  EXPECT_THAT(request, StartsWith(start));
  EXPECT_EQ(request.back(), '\'');
  return request.substr(start.size(), request.size() - start.size() - 1);
}

// B090: fish, csh and the others read the request before sh does.
TEST(ExecRequestTest, AWrappedRequestHoldsNothingThatAShellReadsItsOwnWay) {
  Payload payload = command_in("/srv/my \"app\"\n\xC3\xBC`$(id)`");
  payload.environment = {"A=!' \\ \t\n\r*?[a]~#&|;<>(){}^\xFF\x01"};
  Payload script{.bytes = "echo\n",
                 .interpreter = Interpreter{"/bin/bash", {"-e"}},
                 .directory = "a'b",
                 .environment = {}};
  for (const Payload& one : {payload, script}) {
    const std::string word = quoted_word(exec_request(one));
    for (const char c : word) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
    for (const char special : {'\'', '!', '`'})
      EXPECT_EQ(word.find(special), std::string::npos) << special;
    EXPECT_EQ(word.find("\\\\"), std::string::npos);
  }
}

TEST(ExecRequestTest, AScriptIsNotInTheRequest) {
  const Payload script{.bytes = "echo very-special\n",
                       .interpreter = Interpreter{"sh", {}},
                       .directory = {},
                       .environment = {}};
  EXPECT_EQ(exec_request(script).find("very-special"), std::string::npos);
}

/// What `request` prints when sh, as a login shell does, is given it with `-c`.
std::string output_of(const std::string& request) {
  FILE* reader = popen(("/bin/sh -c " + shell_quote(request)).c_str(), "r");
  if (reader == nullptr) return "(no process)";
  std::string output;
  for (int c = fgetc(reader); c != EOF; c = fgetc(reader)) output += static_cast<char>(c);
  return pclose(reader) == 0 ? output : output + "(failed)";
}

TEST(ExecRequestTest, FolderVariablesAndCommandArriveAsTheyWere) {
  const test::ScratchFolder folder;
  std::string every_byte;
  for (int c = 1; c < 256; ++c) every_byte += static_cast<char>(c);
  for (const std::string name : {"plain", "with space", "it's", "\"q\"", "new\nline\n", "-dash",
                                 "\xC3\xBC", "$(id)", "a\\b\\", "!x", "*"}) {
    std::filesystem::create_directory(folder.path() / name);
    const Payload payload{.bytes = "pwd; printf %s \"$A\"",
                          .interpreter = {},
                          .directory = (folder.path() / name).string(),
                          .environment = {"A=" + every_byte}};
    EXPECT_EQ(output_of(exec_request(payload)), payload.directory + "\n" + every_byte) << name;
  }
}

TEST(ExecRequestTest, NothingRunsWhereTheFolderCannotBeEntered) {
  const test::ScratchFolder folder;
  const Payload payload = command_in(folder.file("absent"));
  EXPECT_EQ(output_of(exec_request(payload) + " 2>&1").find("it's"), std::string::npos);
}

}  // namespace
}  // namespace sshx::exec
