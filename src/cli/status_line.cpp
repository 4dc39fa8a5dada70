#include "cli/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/columns.h"
#include "core/text.h"

namespace sshx::cli {
namespace {

constexpr auto kBetweenRedraws = std::chrono::milliseconds(200);
constexpr std::size_t kMostListed = 16;
constexpr std::size_t kUsualColumns = 80;

std::string timed(const RunningTarget& target) {
  return fmt::format("{} ({} s)", printable(target.name), target.seconds);
}

}  // namespace

std::string status_text(const Progress& progress, std::size_t columns) {
  auto text = fmt::format("{}/{} done", progress.done, progress.total);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  text += fmt::format(", {} running", progress.running);
  if (progress.slowest) text += fmt::format("; slowest {}", timed(*progress.slowest));
  return std::string(cut_to_columns(text, columns == 0 ? 0 : columns - 1));
}

std::string running_list(std::vector<RunningTarget> targets) {
  if (targets.empty()) return {};
  std::ranges::stable_sort(targets, std::ranges::greater{}, &RunningTarget::seconds);
  std::vector<std::string> names;
  for (const auto& target : targets) names.push_back(timed(target));
  return fmt::format("still running: {}; Ctrl-C again to leave", listed(names, kMostListed));
}

std::optional<std::size_t> status_columns(Notes notes, int descriptor) {
  if (notes == Notes::hidden || ::isatty(descriptor) != 1) return std::nullopt;
  winsize measured{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &measured) == 0 && measured.ws_col > 0;
  return known ? measured.ws_col : kUsualColumns;
}

void StatusLine::started(std::string_view name, Clock::time_point now) {
  running_.push_back({std::string(name), now});
}

std::string StatusLine::finished(std::string_view name, bool ok, Clock::time_point now) {
  const auto found = std::ranges::find(running_, name, &Started::name);
  if (found != running_.end()) running_.erase(found);
  ++progress_.done;
  if (!ok) ++progress_.failed;
  return draw(now);
}

std::string StatusLine::tick(Clock::time_point now) {
  if (drawn_at_ && now - *drawn_at_ < kBetweenRedraws) return {};
  return draw(now);
}

std::string StatusLine::clear() { return replace({}); }

void StatusLine::resize(std::size_t columns) {
  if (!columns_) return;
  columns_ = columns;
  // Blanks for more than the line now holds would go on to the next one.
  shown_ = cut_to_columns(shown_, columns == 0 ? 0 : columns - 1);
}

std::vector<RunningTarget> StatusLine::running(Clock::time_point now) const {
  std::vector<RunningTarget> targets;
  for (const auto& target : running_) {
    targets.push_back({target.name, milliseconds_between(target.at, now) / 1000});
  }
  return targets;
}

std::string StatusLine::draw(Clock::time_point now) {
  if (!columns_) return {};
  drawn_at_ = now;
  progress_.running = running_.size();
  progress_.slowest.reset();
  if (!running_.empty()) {
    const auto& first = running_.front();
    progress_.slowest = {first.name, milliseconds_between(first.at, now) / 1000};
  }
  return replace(status_text(progress_, *columns_));
}

// Blanks instead of an escape sequence, which not every terminal knows.
std::string StatusLine::replace(std::string text) {
  if (text == shown_) return {};
  const auto before = columns_of(shown_);
  const auto now = columns_of(text);
  shown_ = std::move(text);
  const std::string blanks(before > now ? before - now : 0, ' ');
  if (shown_.empty()) return fmt::format("\r{}\r", blanks);
  return fmt::format("\r{}{}", shown_, blanks);
}

}  // namespace sshx::cli
