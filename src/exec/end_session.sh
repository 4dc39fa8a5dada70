# shellcheck shell=sh disable=SC2086,SC2048,SC2154
# (words without white space, split on purpose; nonce and steps come from outside)
#
# What the second session of a connection runs to end the command of the first one and to see that it is gone (ADR 7).
#
# Built into sshx as one line (tools/embed_shell): comments and line ends go, so each statement ends with a semicolon. The
# line stands between single quotes in front of any login shell: no single quotes, backslashes and exclamation marks.
# Set before it: nonce, a random word; steps, the signals to send one after the other ("-" sends none and waits).
# Prints sshx:NONCE:seen (looked, and all are gone), :left (some outlived every step) or :unseen (cannot tell).
#
# sshd     this connection's sshd, our parent; sshd_group and sshd_session are its own
# sessions those that it started, ours apart; what a command leaves behind still belongs to its session
# tree     sshd and every process below it or in one of the sessions, ours apart
# groups   the process groups of these, sshd's own apart
# blind    set when something cannot be told

# all: "state pid ppid pgid sid" of every process. Without ps(1), by builtins from /proc, minding that a process may put
# ") " and newlines into its own name. State "Zl" is a zombie whose other threads run on.
list_proc() {
  for file in /proc/[0-9]*/stat; do
    read_stat $file;
    set -- $stat;
    [ $4 ] || continue;
    state=$1;
    [ ${18} -gt 1 ] && state=${state}l;
    echo $state $pid $2 $3 $4;
  done;
};
read_stat() {
  line=;
  { while read -r part; do line=$line$part; done < $1; } 2>/dev/null;
  pid=${line%% *};
  stat=${line##*") "};
};
list() {
  all=$(ps -A -o stat= -o pid= -o ppid= -o pgid= -o sid= 2>/dev/null);
  [ "$all" ] || all=$(list_proc);
};

# Adds what of all belongs to the command to tree, sessions and groups. leader: we lead our own session.
find_members() {
  sshd_group=;
  set -- $all;
  while [ $# -gt 4 ]; do
    [ $2 = $sshd ] && sshd_group=$4 && sshd_session=$5;
    [ $2 = $$ ] && [ $5 = $$ ] && leader=1;
    shift 5;
  done;
  found=1;
  while [ $found = 1 ]; do
    found=0;
    set -- $all;
    while [ $# -gt 4 ]; do
      is_member $* && add_member $*;
      shift 5;
    done;
  done;
};
is_member() {
  [ $2 = $$ ] && return 1;
  case $tree in *" $2 "*) return 1;; esac;
  case $tree in *" $3 "*) return 0;; esac;
  case $sessions in *" $5 "*) return 0;; esac;
  return 1;
};
add_member() {
  found=1;
  tree="$tree$2 ";
  if [ $3 = $sshd ]; then
    [ "$5" = "$sshd_session" ] || sessions="$sessions$5 ";
  fi;
  case $groups in *" $4 "*) return;; esac;
  [ "$4" = "$sshd_group" ] || [ $4 -le 1 ] || groups="$groups$4 ";
};

# When the first signal has ended the login shell before we could look, its session has no leader any more. A process
# whose environment names this connection and which still holds a pipe shows which session that is. A daemon, which has
# let go of its pipes, is left alone. What else has lost its leader since this sshd began may be the command's or not.
find_orphans() {
  if [ -r /proc/self/stat ] && command -v grep > /dev/null; then
    ours=" $(grep -lswF "SSH_CONNECTION=$SSH_CONNECTION" /proc/[0-9]*/environ 2>/dev/null) ";
    begin $sshd;
    sshd_began=$began;
    set -- $all;
    while [ $# -gt 4 ]; do is_orphan $* && adopt $*; shift 5; done;
    set -- $all;
    while [ $# -gt 4 ]; do is_orphan $* && doubt $*; shift 5; done;
    find_members;
  else
    blind=1;
  fi;
};
begin() {
  read_stat /proc/$1/stat;
  set -- $stat;
  began=${20:-0};
};
is_orphan() {
  is_live $1 || return 1;
  [ $5 = 0 ] && return 1;
  [ -d /proc/$5 ] && return 1;
  begin $2;
  [ $began -ge $sshd_began ];
};
adopt() {
  case $ours in
    *[[:space:]]/proc/$2/*)
      { [ -p /proc/$2/fd/1 ] || [ -p /proc/$2/fd/2 ]; } && sessions="$sessions$5 ";;
  esac;
};
doubt() {
  case $sessions in *" $5 "*) return;; esac;
  case $ours in *[[:space:]]/proc/$2/*) blind=1; return;; esac;
  grep -qsF SSH_CONNECTION= /proc/$2/environ || blind=1;
};

# A zombie waits for nothing but its parent, unless its other threads run on.
is_live() {
  case $1 in Z*l*) return 0;; Z*|X*) return 1;; esac;
  return 0;
};

# left: whether some are there. The quick look asks for the groups alone.
glance() {
  left=0;
  for group in $groups; do kill -0 -$group 2>/dev/null && left=1; done;
};
# The look that counts needs a list with sshd in it. A group that may not be signalled is there, even where /proc hides its
# processes, and so is one whose processes come and go too fast to be listed.
look() {
  left=0;
  listed=" ";
  list;
  find_members;
  [ "$sshd_group" ] || blind=1;
  set -- $all;
  while [ $# -gt 4 ]; do
    listed="$listed$4 ";
    is_live $1 && is_ours $4 $5 && left=1;
    shift 5;
  done;
  for group in $groups; do
    if answer=$(kill -0 -$group 2>&1); then
      case $listed in *" $group "*) ;; *) left=1;; esac;
    else
      case $answer in *"o such process"*) ;; *) left=1;; esac;
    fi;
  done;
};
is_ours() {
  case $groups in *" $1 "*) return 0;; esac;
  case $sessions in *" $2 "*) return 0;; esac;
  return 1;
};

# Only what sshd itself has started may judge: inside a wrapper, the parent is not the connection.
stands_below_sshd() {
  name=;
  { read -r name < /proc/$sshd/comm; } 2>/dev/null || name=$(ps -o comm= -p $sshd 2>/dev/null);
  case $name in *sshd*) ;; *) return 1;; esac;
  [ "$leader" ] && [ "$sshd_group" ];
};

LC_ALL=C; export LC_ALL;
sshd=$PPID; sshd_group=; sshd_session=; leader=; blind=; left=;
tree=" $sshd "; groups=" "; sessions=" ";
list;
find_members;
stands_below_sshd || { echo sshx:$nonce:unseen; exit; };
[ "$sessions" = " " ] && find_orphans;
for step in $steps; do
  [ $step = - ] || for group in $groups; do kill -$step -$group; done 2>/dev/null;
  for _ in 1 2 3 4 5; do
    glance;
    [ $left = 0 ] && break;
    sleep .07 2>/dev/null || sleep 1;
  done;
  look;
  [ $left = 0 ] && break;
done;
[ $left = 1 ] && echo sshx:$nonce:left || echo sshx:$nonce:${blind:+un}seen
