#include "exec/run_deadlines.h"

#include <fmt/format.h>

#include <utility>

namespace sshx::exec {
namespace {

/// Whether a step's own error can mean that its time was over. An agent that is waited for in vain
/// is one that cannot be used, so its error does not tell by itself.
bool may_be_of_time(const Error& error) {
  if (error.kind == ErrorKind::connect) return error.code == "timeout";
  if (error.kind == ErrorKind::auth) return error.code == "agent_unavailable";
  return error.kind == ErrorKind::timeout;
}

std::string undone(Phase phase, const std::string& place) {
  if (phase == Phase::authenticate) return fmt::format("logging in on {} was not done", place);
  if (phase == Phase::execute) return fmt::format("the command on {} was not done", place);
  return fmt::format("{} was not reached", place);
}

}  // namespace

Error RunDeadlines::timeout(Phase phase, const std::string& place) const {
  const std::string code = host <= global ? "host" : "global";
  return {ErrorKind::timeout, code,
          fmt::format("{} within the {} timeout", undone(phase, place), code),
          fmt::format("raise --{}-timeout", code), phase};
}

Error RunDeadlines::named(Error error, Deadline step, const std::string& place) const {
  const bool ours = earliest() < step && passed(earliest()) && may_be_of_time(error);
  return ours ? timeout(error.phase(), place) : std::move(error);
}

}  // namespace sshx::exec
