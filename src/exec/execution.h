#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/text.h"
#include "exec/event_stream.h"
#include "exec/local_terminal.h"
#include "exec/result.h"
#include "exec/run_deadlines.h"
#include "exec/run_request.h"

namespace sshx::exec {

/// One target's part of a run: what is to be done, until when, and what comes of it.
struct Execution {
  const RunRequest& run;
  const SessionRequest& session;
  RunDeadlines deadlines;
  PrivateKeys& keys;  ///< Of the whole run.
  ExecutionResult& result;

  [[nodiscard]] std::string place() const {
    return host_and_port(session.target.address, session.target.port);
  }
};

/// The result of a target before anything was done about it; `run_id` names the run that it is
/// part of.
[[nodiscard]] ExecutionResult planned_result(const RunRequest& run, const SessionRequest& session,
                                             std::string run_id);

/// The deadlines of a target that starts now, in a run that began at `started`.
[[nodiscard]] RunDeadlines deadlines_of(const RunRequest& run, Deadline started);

/// The bytes for the command's stdin: given ones, which stay `run`'s, or the caller's. `changed` is
/// raised when more of the caller's came.
[[nodiscard]] std::unique_ptr<ssh::InputSource>
make_input(const RunRequest& run, const std::shared_ptr<ThreadSignal>& changed);

/// All that is done on the target, within the deadlines: connection, login, channel, command, and
/// the end of what was stopped. Fills in what is seen. `local` is the terminal that the command's
/// was opened for, if it has one. Waits. Returns: what open_session, ssh::Channel::open and
/// ssh::Channel::request_terminal return; timeout (`host`, `global`).
[[nodiscard]] Task<Status> carry_out(Runtime runtime, Execution& execution,
                                     ssh::CommandStreams streams,
                                     std::optional<LocalTerminal>& local);

/// The same with the output captured into the result. First waits, within the deadlines, until the
/// reader has taken the events so far.
[[nodiscard]] Task<Status> carry_out_captured(Runtime runtime, Execution& execution,
                                              std::shared_ptr<ThreadSignal> changed,
                                              EventStream& events);

}  // namespace sshx::exec
