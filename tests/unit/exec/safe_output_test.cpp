#include <gtest/gtest.h>

#include <map>

#include "exec/safe_output.h"

namespace sshx::exec {
namespace {

using ssh::OutputStream;

/// Keeps what it is given.
class Kept final : public ssh::OutputReceiver {
 public:
  void receive(OutputStream stream, std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    text_[stream] += bytes;
  }
  [[nodiscard]] bool ready() const override { return ready_; }
  [[nodiscard]] std::optional<Error> failure() const override { return failure_; }

  [[nodiscard]] std::string text(OutputStream stream) const {
    const auto found = text_.find(stream);
    return found == text_.end() ? "" : found->second;
  }
  void stall() { ready_ = false; }
  void fail(Error error) { failure_ = std::move(error); }

 private:
  std::map<OutputStream, std::string> text_;
  bool ready_ = true;
  std::optional<Error> failure_;
};

// B149
TEST(SafeOutputTest, ShowsControlBytesOnBothStreams) {
  Kept kept;
  SafeOutput safe(kept);
  safe.receive(OutputStream::standard_output, "a\x1b[2J\n");
  safe.receive(OutputStream::standard_error, "\tb\x9b\x07");
  safe.finish();
  EXPECT_EQ(kept.text(OutputStream::standard_output), "a\\x1b[2J\n");
  EXPECT_EQ(kept.text(OutputStream::standard_error), "\tb\\x9b\\x07");
}

TEST(SafeOutputTest, ACharacterThatIsCutInOneStreamIsNotCompletedByTheOther) {
  Kept kept;
  SafeOutput safe(kept);
  safe.receive(OutputStream::standard_output, "\xE6\x97");
  safe.receive(OutputStream::standard_error, "\xC3");
  safe.receive(OutputStream::standard_output, "\xA5.");
  safe.receive(OutputStream::standard_error, "\xBC.");
  EXPECT_EQ(kept.text(OutputStream::standard_output), "\xE6\x97\xA5.");
  EXPECT_EQ(kept.text(OutputStream::standard_error), "\xC3\xBC.");
}

TEST(SafeOutputTest, TheEndShowsWhatWasLeftUnfinished) {
  Kept kept;
  SafeOutput safe(kept);
  safe.receive(OutputStream::standard_output, "x\xE6\x97");
  safe.receive(OutputStream::standard_error, "y\xF0");
  safe.finish();
  safe.finish();
  EXPECT_EQ(kept.text(OutputStream::standard_output), "x\\xe6\\x97");
  EXPECT_EQ(kept.text(OutputStream::standard_error), "y\\xf0");
}

TEST(SafeOutputTest, IsAsReadyAndAsWellAsWhatItHandsOnTo) {
  Kept kept;
  const SafeOutput safe(kept);
  EXPECT_TRUE(safe.ready());
  EXPECT_FALSE(safe.failure().has_value());
  kept.stall();
  kept.fail({ErrorKind::local_io, "broken_pipe", "nobody reads", {}});
  EXPECT_FALSE(safe.ready());
  ASSERT_TRUE(safe.failure().has_value());
  EXPECT_EQ(safe.failure()->code, "broken_pipe");
}

}  // namespace
}  // namespace sshx::exec
