#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "core/parent_death.h"

namespace sshx {
namespace {

// A fork has another parent than this program had when it started: as after the parent's end.
TEST(ParentDeathTest, AParentThatHasEndedIsNoticed) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_FALSE(parent_has_ended());
  EXPECT_EXIT(die_with_parent(), testing::KilledBySignal(kParentDeathSignal), "");
}

TEST(ParentDeathTest, AnInheritedDispositionDoesNotHideIt) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_EXIT(
      {
        static_cast<void>(std::signal(kParentDeathSignal, SIG_IGN));
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, nullptr);
        die_with_parent();
      },
      testing::KilledBySignal(kParentDeathSignal), "");
}

TEST(ParentDeathTest, AParentThatLivesIsNotAnEnd) {
  // Started anew, so that its parent is the one that it began with.
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        die_with_parent();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sshx
