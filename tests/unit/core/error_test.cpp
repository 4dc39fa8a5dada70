#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "core/error.h"

namespace sshx {
namespace {

TEST(ErrorKinds, StandInTheOrderOfTheEnumWithNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < error_kinds().size(); ++i) {
    const auto& row = error_kinds()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.kind), i);
    EXPECT_EQ(error_kind_from(row.name), row.kind);
    EXPECT_EQ(to_string(row.kind), row.name);
    EXPECT_FALSE(row.meaning.empty());
    names.insert(std::string(row.name));
  }
  EXPECT_EQ(names.size(), error_kinds().size());
}

TEST(ErrorKinds, KnowNoOtherName) {
  EXPECT_EQ(error_kind_from("usage"), std::nullopt);
  EXPECT_EQ(error_kind_from(""), std::nullopt);
}

TEST(Error, TakesItsKindsPhaseUnlessAnotherIsSet) {
  auto error = config_error("name", "wrong name", "write another");
  EXPECT_EQ(error.kind, ErrorKind::config);
  EXPECT_EQ(error.phase(), Phase::resolve);
  error.at = Phase::persist;
  EXPECT_EQ(error.phase(), Phase::persist);
  EXPECT_EQ(to_string(error.phase()), "persist");
}

TEST(IoError, NamesOperationPathAndReason) {
  const auto error = io_error("read", "/etc/x", ENOENT);
  EXPECT_EQ(error.kind, ErrorKind::local_io);
  EXPECT_EQ(error.message, "cannot read /etc/x: No such file or directory");
  EXPECT_EQ(error.code, "not_found");
  EXPECT_EQ(io_error("read", "x", EACCES).code, "permission");
  EXPECT_EQ(io_error("write", "x", ENOSPC).code, "no_space");
  EXPECT_EQ(io_error("write", "x", EROFS).code, "read_only");
  EXPECT_EQ(io_error("write", "x", EIO).code, "io");
}

}  // namespace
}  // namespace sshx
