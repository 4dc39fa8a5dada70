#include "exec/termination.h"

#include <fmt/format.h>

#include "core/identifier.h"
#include "exec/local_streams.h"
#include "exec/output_capture.h"

namespace sshx::exec {
namespace {

constexpr double kBudgetSeconds = 2.5;
/// For one answer of the server; a peer that takes longer is not going to help in time.
constexpr double kAnswerSeconds = 0.7;
/// Between the protocol's own signals, where they are all there is.
constexpr double kStepSeconds = 0.4;
constexpr std::size_t kAnswerBytes = 64UL * 1024;

// One line without single quotes, backslashes and exclamation marks: fish, csh and every POSIX
// shell read it in single quotes as it stands. One-letter names keep it within one packet.
constexpr std::string_view kListProcesses =
    // a: "state pid ppid pgid" of every process. Where there is no ps(1), by builtins from /proc,
    // minding that a process may put ") " and newlines into its own name.
    "y() { for f in /proc/[0-9]*/stat; do s=; { while read -r x; do s=$s$x; done < $f; } "
    "2>/dev/null; i=${s%% *}; s=${s##*\") \"}; set -- $s; [ $1 ] && echo $1 $i $2 $3; done; }; "
    "l() { a=$(ps -A -o stat= -o pid= -o ppid= -o pgid= 2>/dev/null); [ \"$a\" ] || a=$(y); }; ";
constexpr std::string_view kFindGroups =
    // D: this connection's sshd (p) and all below it but us; G: their process groups, without the
    // sshd's own, P.
    "f() { l; set -- $a; while [ $# -gt 3 ]; do [ $2 = $p ] && P=$4; shift 4; done; m=1; "
    "while [ $m = 1 ]; do m=0; set -- $a; while [ $# -gt 3 ]; do case $D in *\" $2 \"*) ;; "
    "*\" $3 \"*) [ $2 = $$ ] || { D=\"$D$2 \"; m=1; case $G in *\" $4 \"*) ;; "
    "*) [ $4 = $P ] || [ $4 -le 1 ] || G=\"$G$4 \";; esac; };; esac; shift 4; done; done; }; ";
constexpr std::string_view kFindOrphans =
    // When the first signal has ended the login shell, what it left behind hangs below init. The
    // environment tells whose it is; a daemon, whose session has a leader of its own, is left
    // alone. B: there may be one that cannot be told, such as what sudo started.
    "o() { [ -r /proc/self/environ ] || B=1; "
    "for i in $(grep -lswF \"SSH_CONNECTION=$SSH_CONNECTION\" /proc/[0-9]*/environ); do "
    "i=${i#/proc/}; i=${i%/environ}; read -r x < /proc/$i/stat; set -- ${x##*\") \"}; "
    "[ $4 ] && { [ -d /proc/$4 ] || G=\"$G$3 \"; }; done 2>/dev/null; set -- $a; "
    "while [ $# -gt 3 ]; do [ $2 -lt $p ] || [ $4 = 0 ] || [ -r /proc/$2/environ ] || "
    "[ -d /proc/$4 ] || B=1; shift 4; done; }; ";
constexpr std::string_view kLook =
    // n: there may be some left. Only "no such process" says that a group is gone; one that may not
    // be signalled (e) is there, even where /proc hides it. z() counts zombies out, who wait for
    // nothing but their parent.
    "c() { n=0; e=0; for g in $G; do k=$(kill -0 -$g 2>&1) && n=1 || case $k in "
    "*\"o such process\"*) ;; *) n=1; e=1;; esac; done; }; "
    "z() { n=$e; l; set -- $a; while [ $# -gt 3 ]; do case $1 in Z*|X*) ;; "
    "*) case $G in *\" $4 \"*) n=1;; esac;; esac; shift 4; done; }; ";
constexpr std::string_view kSignalAndLook =
    "LC_ALL=C; export LC_ALL; p=$PPID; P=; B=; D=\" $p \"; G=\" \"; for q in $steps; do f; "
    "[ \"$q$D\" = \"- $p \" ] && o; "
    "[ $q = - ] || for g in $G; do kill -$q -$g; done 2>/dev/null; "
    "for t in 1 2 3 4 5 6 7 8; do c; [ $n = 0 ] && break 2; sleep .05 2>/dev/null || sleep 1; "
    "done; z; [ $n = 0 ] && break; done; [ \"$P\" ] || B=1; "
    "[ $n = 1 ] && echo sshx:$nonce:left || echo sshx:$nonce:${B:+un}seen";

Termination unknown(std::string reason) { return {Ending::unknown, std::move(reason)}; }

/// Signals through the protocol, in bounded steps, where nothing can look.
ssh::Task<void> signal_blindly(ssh::Channel& channel, Deadline deadline) {
  for (const auto* name : {"TERM", "KILL"}) {
    if (channel.exit_seen()) co_return;
    const auto step = std::min(deadline, after(kStepSeconds));
    const auto answer = co_await channel.signal(name, step);
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

ssh::Task<Termination> look(ssh::Connection& connection, ssh::Channel& channel,
                            ssh::SignalAnswer first, Deadline deadline) {
  auto second = co_await ssh::Channel::open(connection, deadline);
  if (!second) {
    co_await signal_blindly(channel, deadline);
    co_return unknown("the server opens no second session to look in (MaxSessions)");
  }
  GivenInput input{std::string()};
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

ssh::Task<Termination> end_acknowledged(ssh::Connection& connection, ssh::Channel& channel,
                                        bool may_look, bool is_root, Deadline deadline) {
  const auto first = co_await channel.signal("INT", std::min(deadline, after(kAnswerSeconds)));
  if (first == ssh::SignalAnswer::closed && channel.exit_seen())
    co_return Termination{Ending::exited, {}};
  if (first == ssh::SignalAnswer::none) co_return unknown("the server did not answer a signal");
  if (!may_look) {
    if (first == ssh::SignalAnswer::accepted) co_await signal_blindly(channel, deadline);
    co_return unknown("no second session may look (second_channel is never)");
  }
  if (connection.forced_command())
    co_return unknown("the login has a forced command, so nothing else can be run to look");
  if (first != ssh::SignalAnswer::accepted && !is_root) {
    co_return unknown("the server refuses signals, so a forced command may stand in the way");
  }
  co_return co_await look(connection, channel, first, deadline);
}

}  // namespace

std::string termination_command(const std::string& nonce, const std::string& steps) {
  return fmt::format("exec /bin/sh -c 'nonce={}; steps=\"{}\"; {}{}{}{}{}'", nonce, steps,
                     kListProcesses, kFindGroups, kFindOrphans, kLook, kSignalAndLook);
}

ssh::Task<Termination> terminate(ssh::Runtime runtime, ssh::Connection& connection,
                                 ssh::Channel& channel, std::string user, SecondChannel second) {
  const auto deadline = after(kBudgetSeconds);
  runtime.cancellation.acknowledge();
  const auto request = co_await channel.await_acknowledgement(deadline);
  if (request != ssh::Acknowledgement::success)
    co_return unknown("the server did not say whether it started the command");
  const bool is_root = user == "root";
  const bool may_look = second == SecondChannel::automatic;
  auto termination = co_await end_acknowledged(connection, channel, may_look, is_root, deadline);
  channel.take_remaining_output();
  co_return termination;
}

}  // namespace sshx::exec
