#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "core/result.h"

namespace sshx {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return config_error("odd", "odd number");
  return number / 2;
}

Result<int> quarter(int number) {
  SSHX_TRY(const int first, half(number));
  SSHX_TRY(const int second, half(first));
  return second;
}

Status need_even(int number) {
  SSHX_CHECK(half(number));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error().code, "odd");
}

TEST(Result, TryGoesOnWithTheValueOrReturnsTheError) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().code, "odd");
  EXPECT_EQ(quarter(5).error().code, "odd");
}

TEST(Result, CheckReturnsTheError) {
  EXPECT_TRUE(need_even(2));
  EXPECT_EQ(need_even(1).error().message, "odd number");
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const auto value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

TEST(Result, TreatsTheWrongAccessAsABug) {
  const auto wrong = half(3);
  EXPECT_THROW(static_cast<void>(wrong.value()), std::bad_variant_access);
}

}  // namespace
}  // namespace sshx
