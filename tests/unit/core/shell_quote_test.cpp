#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "core/shell_quote.h"

namespace sshx {
namespace {

std::string output_of_shell(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(ShellQuote, LeavesPlainWordsReadable) {
  for (const std::string word :
       {"ls", "-la", "/etc/hosts", "a.b_c-d", "user@host:22", "50%", "a,b", "+x"}) {
    EXPECT_EQ(shell_quote(word), word);
  }
}

TEST(ShellQuote, QuotesTheRest) {
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("~"), "'~'");
  EXPECT_EQ(shell_quote("A=b"), "'A=b'");
  EXPECT_EQ(shell_quote("if"), "'if'");
}

TEST(ShellQuote, IsReadBackByTheShellByteForByte) {
  std::string every_byte;
  for (int i = 1; i < 256; ++i) every_byte += static_cast<char>(i);
  const std::vector<std::string> words{every_byte, "",  "$HOME", "`id`", "$(id)", "a\nb",
                                       "!x",       "*", "''",    "\\",   "#c",    "{a,b}"};
  std::string expected;
  std::string command = "printf '%s|'";
  for (const auto& word : words) {
    command += " " + shell_quote(word);
    expected += word + "|";
  }
  EXPECT_EQ(output_of_shell(command), expected);
}

TEST(ShellQuote, MakesAWordOfWhatWouldBeSyntaxInFront) {
  for (const std::string word : {"A=b", "if", "case", "{", "!", "done"}) {
    const auto command = shell_quote(word) + " 2>/dev/null || [ $? -eq 127 ] && printf not-found";
    EXPECT_EQ(output_of_shell(command), "not-found") << word;
  }
}

TEST(ShellCommand, TakesOneWordAsItStandsAndQuotesSeveral) {
  EXPECT_EQ(shell_command(std::vector<std::string>{"df -h | head"}), "df -h | head");
  EXPECT_EQ(shell_command(std::vector<std::string>{"ls", "-l", "a b"}), "ls -l 'a b'");
  EXPECT_EQ(shell_command(std::vector<std::string>{"echo", ""}), "echo ''");
  EXPECT_EQ(shell_command(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace sshx
