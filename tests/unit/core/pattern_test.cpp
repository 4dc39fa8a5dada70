#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/pattern.h"

namespace sshx {
namespace {

struct Case {
  std::string pattern;
  std::string text;
  bool fits;
};

TEST(FitsPattern, AgreesWithEcmascript) {
  const std::vector<Case> cases{
      {"^$", "", true},
      {"^$", "a", false},
      {"^abc$", "abc", true},
      {"^abc$", "abcd", false},
      {"^abc$", "ab", false},
      {"^[a-c]$", "b", true},
      {"^[a-c]$", "d", false},
      {"^[a-c-]$", "-", true},
      {"^[^=]+=.+$", "k=v", true},
      {"^[^=]+=.+$", "k=v=w", true},
      {"^[^=]+=.+$", "=v", false},
      {"^[^=]+=.+$", "k=", false},
      {"^[^=]+=.+$", "k=a\nb", false},
      {"^[^=]+=.+$", "schl\xc3\xbcssel=wert", true},
      {"^a*a$", "aaa", true},
      {"^a?b$", "b", true},
      {"^a?b$", "ab", true},
      {"^a?b$", "aab", false},
      {"^[0-9]{3}$", "123", true},
      {"^[0-9]{3}$", "12", false},
      {"^[0-9]{3}$", "1234", false},
      {"^[0-9]{2,}$", "12345", true},
      {"^[0-9]{2,}$", "1", false},
      {"^[0-9]{1,2}x$", "12x", true},
      {"^[0-9]{1,2}x$", "123x", false},
      {"^a\\.b$", "a.b", true},
      {"^a\\.b$", "axb", false},
      {"^SHA256:[A-Za-z0-9+/]{43}$", "SHA256:" + std::string(43, '+'), true},
      {"^SHA256:[A-Za-z0-9+/]{43}$", "SHA256:" + std::string(42, '+'), false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(fits_pattern(c.pattern, c.text), c.fits) << c.pattern << " " << c.text;
}

// B011: std::regex overflows the stack here.
TEST(FitsPattern, TakesLongTexts) {
  const std::string text = "k=" + std::string(1 << 20, 'x');
  EXPECT_TRUE(fits_pattern("^[^=]+=.+$", text));
  EXPECT_FALSE(fits_pattern("^[^=]+=.+$", std::string(1 << 20, 'x')));
}

}  // namespace
}  // namespace sshx
