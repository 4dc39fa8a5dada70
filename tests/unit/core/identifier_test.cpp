#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/identifier.h"

namespace sshx {
namespace {

TEST(NewId, IsAVersion4Uuid) {
  for (int i = 0; i < 100; ++i) {
    const auto id = new_id();
    ASSERT_EQ(id.size(), 36U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos) << id;
    for (const std::size_t at : {8U, 13U, 18U, 23U}) EXPECT_EQ(id[at], '-') << id;
    EXPECT_EQ(id[14], '4') << id;
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
  }
}

TEST(NewId, IsNewEachTime) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_id());
  EXPECT_EQ(ids.size(), 1000U);
}

}  // namespace
}  // namespace sshx
