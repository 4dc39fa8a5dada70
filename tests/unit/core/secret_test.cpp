#include <gtest/gtest.h>

#include "core/secret.h"

namespace sshx {
namespace {

TEST(SecretTest, TheTextItIsMadeOfIsWiped) {
  std::string text(100, 's');
  const auto* place = text.data();
  const Secret secret(std::move(text));
  EXPECT_EQ(secret.reveal(), std::string(100, 's'));
  EXPECT_TRUE(text.empty());  // NOLINT(bugprone-use-after-move): what becomes of it is the point.
  EXPECT_EQ(place[0], '\0');
  EXPECT_EQ(place[99], '\0');
}

TEST(SecretTest, OnlyOneHasIt) {
  Secret first(std::string("one"));
  Secret second(std::move(first));
  EXPECT_EQ(second.reveal(), "one");
  EXPECT_EQ(first.reveal(), "");  // NOLINT(bugprone-use-after-move)
  second = Secret(std::string("two"));
  EXPECT_EQ(second.reveal(), "two");
}

}  // namespace
}  // namespace sshx
