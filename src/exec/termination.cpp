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
constexpr std::chrono::milliseconds kSignalReserve{500};
constexpr std::size_t kAnswerBytes = 64UL * 1024;

// The script of the second session. One line without single quotes, backslashes and exclamation
// marks: fish, csh and every POSIX shell read it in single quotes as it stands. Short names keep it
// small: p is this connection's sshd, P its process group, Q its session; S the sessions that it
// started, D all processes below it, G their groups, each without ours and its own; B is set when
// something cannot be told.
constexpr std::string_view kListProcesses =
    // a: "state pid ppid pgid sid" of every process. Where there is no ps(1), by builtins from
    // /proc, minding that a process may put ") " and newlines into its own name.
    "y() { for f in /proc/[0-9]*/stat; do s=; { while read -r x; do s=$s$x; done < $f; } "
    "2>/dev/null; i=${s%% *}; s=${s##*\") \"}; set -- $s; [ $4 ] || continue; z=$1; "
    "[ ${18} -gt 1 ] && z=${z}l; echo $z $i $2 $3 $4; done; }; "
    "l() { a=$(ps -A -o stat= -o pid= -o ppid= -o pgid= -o sid= 2>/dev/null); "
    "[ \"$a\" ] || a=$(y); }; ";
constexpr std::string_view kFindGroups =
    // sshd makes each command the leader of a session, which its orphans still belong to.
    "f() { set -- $a; P=; while [ $# -gt 4 ]; do [ $2 = $p ] && P=$4 && Q=$5; "
    "[ $2 = $$ ] && [ $5 = $$ ] && V=1; shift 5; done; m=1; while [ $m = 1 ]; do m=0; set -- $a; "
    "while [ $# -gt 4 ]; do t=; case $D in *\" $3 \"*) t=1;; esac; "
    "case $S in *\" $5 \"*) t=1;; esac; case $D in *\" $2 \"*) t=;; esac; [ $2 = $$ ] && t=; "
    "[ $t ] && { m=1; D=\"$D$2 \"; [ $3 = $p ] && [ \" $5 \" = \" $Q \" ] || "
    "{ [ $3 = $p ] && S=\"$S$5 \"; }; case $G in *\" $4 \"*) ;; "
    "*) [ $4 = \"$P\" ] || [ $4 -le 1 ] || G=\"$G$4 \";; esac; }; shift 5; done; done; }; ";
constexpr std::string_view kFindOrphans =
    // When the first signal has ended the login shell before this one could look, its session has
    // no leader any more. A process whose environment names this connection and which still holds
    // a pipe shows which session that is; a daemon, which has let go of its pipes, is left alone.
    // What else has lost its leader since this sshd began may be the command's, or may not.
    "w() { s=; { while read -r x; do s=$s$x; done < /proc/$1/stat; } 2>/dev/null; "
    "set -- ${s##*\") \"}; T=${20}; }; "
    "u() { case $1 in Z*l*) ;; Z*|X*) return 1;; esac; [ $5 = 0 ] && return 1; "
    "[ -d /proc/$5 ] && return 1; return 0; }; "
    "o() { [ -r /proc/self/stat ] && command -v grep > /dev/null || { B=1; return; }; "
    "b=\" $(grep -lswF \"SSH_CONNECTION=$SSH_CONNECTION\" /proc/[0-9]*/environ 2>/dev/null) \"; "
    "w $p; q0=$T; set -- $a; while [ $# -gt 4 ]; do u $* && case $b in *[[:space:]]/proc/$2/*) "
    "w $2; [ ${T:-0} -ge $q0 ] && { [ -p /proc/$2/fd/1 ] || [ -p /proc/$2/fd/2 ]; } && "
    "S=\"$S$5 \";; esac; shift 5; done; "
    "set -- $a; while [ $# -gt 4 ]; do u $* && case $S in *\" $5 \"*) ;; "
    "*) case $b in *[[:space:]]/proc/$2/*) B=1;; *) w $2; "
    "[ ${T:-0} -lt $q0 ] || grep -qsF SSH_CONNECTION= /proc/$2/environ || B=1;; esac;; esac; "
    "shift 5; done; f; }; ";
constexpr std::string_view kLook =
    // n: some are left. c() is the quick look, j() the one that counts: it needs a list with sshd
    // in it, takes zombies for gone (but not one whose threads run on), and a group that may not be
    // signalled, or whose processes come and go too fast to be listed, for there.
    "c() { n=0; for g in $G; do kill -0 -$g 2>/dev/null && n=1; done; }; "
    "j() { n=0; R=\" \"; l; f; [ \"$P\" ] || B=1; set -- $a; while [ $# -gt 4 ]; do t=; "
    "case $G in *\" $4 \"*) t=1;; esac; case $S in *\" $5 \"*) t=1;; esac; "
    "case $1 in Z*l*) ;; Z*|X*) t=;; esac; [ $t ] && n=1; R=\"$R$4 \"; shift 5; done; "
    "for g in $G; do if k=$(kill -0 -$g 2>&1); then case $R in *\" $g \"*) ;; *) n=1;; esac; "
    "else case $k in *\"o such process\"*) ;; *) n=1;; esac; fi; done; }; ";
constexpr std::string_view kSignalAndLook =
    // Only what sshd itself has started may judge: in a wrapper, the parent is not the connection.
    "LC_ALL=C; export LC_ALL; p=$PPID; P=; Q=; V=; B=; n=; D=\" $p \"; G=\" \"; S=\" \"; x=; "
    "{ read -r x < /proc/$p/comm; } 2>/dev/null || x=$(ps -o comm= -p $p 2>/dev/null); l; f; "
    "case $x in *sshd*) ;; *) V=;; esac; [ $V ] && [ $P ] || { echo sshx:$nonce:unseen; exit; }; "
    "[ \"$S\" = \" \" ] && o; for q in $steps; do "
    "[ $q = - ] || for g in $G; do kill -$q -$g; done 2>/dev/null; for t in 1 2 3 4 5; do c; "
    "[ $n = 0 ] && break; sleep .07 2>/dev/null || sleep 1; done; j; [ $n = 0 ] && break; done; "
    "[ $n = 1 ] && echo sshx:$nonce:left || echo sshx:$nonce:${B:+un}seen";

Termination unknown(std::string reason) { return {Ending::unknown, std::move(reason)}; }

double seconds_until(Deadline deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

/// Signals through the protocol, in bounded steps after the first signal, where nothing can look.
ssh::Task<void> signal_blindly(ssh::Channel& channel, Deadline deadline) {
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

ssh::Task<Termination> look(ssh::Connection& connection, ssh::SignalAnswer first, Deadline whole) {
  // Where it comes to nothing, the protocol's own signals need the rest.
  const auto deadline = first == ssh::SignalAnswer::accepted ? whole - kSignalReserve : whole;
  auto second = co_await ssh::Channel::open(connection, deadline);
  if (!second) co_return unknown("the server opens no second session to look in (MaxSessions)");
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

ssh::Task<Termination> end_acknowledged(ssh::Connection& connection, ssh::Channel& channel,
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
  auto termination = co_await end_acknowledged(connection, channel, second, is_root, deadline);
  channel.take_remaining_output();
  co_return termination;
}

}  // namespace sshx::exec
