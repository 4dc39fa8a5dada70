#include <gtest/gtest.h>

#include "cli/table.h"

namespace sshx::cli {
namespace {

TEST(Table, PadsColumnsToTheirWidestCell) {
  Table table({"NAME", "PORT"});
  table.add({"web-1", "22"});
  table.add({"a", "2222"});
  EXPECT_EQ(table.text(), "NAME   PORT\nweb-1  22\na      2222\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"A", "B"});
  table.add({"é", "x"});
  EXPECT_EQ(table.text(), "A  B\né  x\n");
}

TEST(Table, MakesControlBytesVisible) {
  Table table({"A"});
  table.add({"\x1b[31mred\n"});
  EXPECT_EQ(table.text(), "A\n\\x1b[31mred\\n\n");
}

TEST(Table, LeavesNoTrailingSpaces) {
  Table table({"NAME", "TEXT"});
  table.add({"a", ""});
  EXPECT_EQ(table.text(), "NAME  TEXT\na\n");
}

}  // namespace
}  // namespace sshx::cli
