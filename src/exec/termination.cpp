#include "exec/termination.h"

#include <fmt/format.h>

#include "core/identifier.h"
#include "exec/end_session.h"
#include "exec/local_streams.h"
#include "exec/output_capture.h"

namespace sshx::exec {
namespace {

constexpr double kBudgetSeconds = 2.5;
/// For one answer of the server; a peer that takes longer is not going to help in time.
constexpr double kAnswerSeconds = 0.7;
/// Between the protocol's own signals, where they are all there is.
constexpr double kStepSeconds = 0.4;
constexpr std::chrono::milliseconds kSignalReserve{500};
constexpr std::size_t kAnswerBytes = 64UL * 1024;

Termination unknown(std::string reason) { return {Ending::unknown, std::move(reason)}; }

double seconds_until(Deadline deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

/// Signals through the protocol, in bounded steps after the first signal, where nothing can look.
Task<void> signal_blindly(ssh::Channel& channel, Deadline deadline) {
  const auto step = std::min(kStepSeconds, seconds_until(deadline) / 3);
  for (const auto* name : {"TERM", "KILL"}) {
    co_await channel.await_exit(after(step));
    if (channel.exit_seen()) co_return;
    const auto answer = co_await channel.signal(name, deadline);
    if (answer != ssh::SignalAnswer::accepted) co_return;
  }
}

Termination judged(const OutputCapture& answer, const std::string& nonce) {
  const auto text = answer.stream(ssh::OutputStream::standard_output).text().text;
  const auto says = [&](std::string_view word) {
    return text.find(fmt::format("sshx:{}:{}", nonce, word)) != std::string::npos;
  };
  if (says("seen")) return {Ending::terminated, {}};
  if (says("left")) {
    return {Ending::running, "processes of the command outlived every signal; they may belong to "
                             "another user (sudo), whom this login may not signal"};
  }
  if (says("unseen"))
    return unknown("the second session cannot see every process that may belong to the command");
  return unknown("the second session could not look (the login shell may be restricted)");
}

Task<Termination> look(ssh::Connection& connection, ssh::SignalAnswer first, Deadline whole) {
  // Where it comes to nothing, the protocol's own signals need the rest.
  const auto deadline = first == ssh::SignalAnswer::accepted ? whole - kSignalReserve : whole;
  auto second = co_await ssh::Channel::open(connection, deadline);
  if (!second) co_return unknown("the server opens no second session to look in (MaxSessions)");
  GivenInput input("");
  OutputCapture answer(kAnswerBytes);
  const ssh::CommandStreams streams{input, answer, nullptr};
  const auto nonce = new_id();
  // The first signal was INT already; some programs take a second one for impatience.
  const auto* steps = first == ssh::SignalAnswer::accepted ? "- TERM KILL" : "INT TERM KILL";
  const auto outcome = co_await second->run(termination_command(nonce, steps), streams, deadline);
  if (outcome.stopped && outcome.stopped->kind == ErrorKind::cancelled)
    co_return unknown("it was not waited for");
  co_return judged(answer, nonce);
}

/// Why the second session must not be opened; empty where it may.
std::string reason_not_to_look(const ssh::Connection& connection, SecondChannel second,
                               ssh::SignalAnswer first, bool is_root) {
  if (second == SecondChannel::never) return "no second session may look (second_channel is never)";
  if (!connection.is_openssh())
    return "the server is not OpenSSH, so its processes cannot be told apart";
  if (connection.forced_command())
    return "the login has a forced command, so nothing else can be run to look";
  if (first != ssh::SignalAnswer::accepted && !is_root)
    return "the server refuses signals, so a forced command may stand in the way";
  return "";
}

Task<Termination> end_acknowledged(ssh::Connection& connection, ssh::Channel& channel,
                                   SecondChannel second, bool is_root, Deadline deadline) {
  const auto first = co_await channel.signal("INT", std::min(deadline, after(kAnswerSeconds)));
  if (first != ssh::SignalAnswer::accepted && channel.exit_seen())
    co_return Termination{Ending::exited, {}};
  if (first == ssh::SignalAnswer::none) co_return unknown("the server did not answer a signal");
  Termination termination = unknown(reason_not_to_look(connection, second, first, is_root));
  if (termination.reason.empty()) termination = co_await look(connection, first, deadline);
  const bool signals_help = first == ssh::SignalAnswer::accepted;
  if (termination.ending == Ending::unknown && signals_help)
    co_await signal_blindly(channel, deadline);
  co_return termination;
}

}  // namespace

std::string termination_command(const std::string& nonce, const std::string& steps) {
  return fmt::format("exec /bin/sh -c 'nonce={}; steps=\"{}\"; {}'", nonce, steps, kEndSession);
}

Task<Termination> terminate(Runtime runtime, ssh::Connection& connection, ssh::Channel& channel,
                            std::string user, SecondChannel second) {
  const auto deadline = after(kBudgetSeconds);
  runtime.cancellation.acknowledge();
  const auto request = co_await channel.await_acknowledgement(deadline);
  if (request != ssh::Acknowledgement::success)
    co_return unknown("the server did not say whether it started the command");
  const bool is_root = user == "root";
  auto termination = co_await end_acknowledged(connection, channel, second, is_root, deadline);
  channel.take_remaining_output();
  co_return termination;
}

}  // namespace sshx::exec
