"""Termination whatever the account's start-up files do (B092)."""

import os
import signal
import unittest

from tests.lab import Account, login_kinds, processes
from tests.lab.termination import STUBBORN, TerminationCase, Work


class StartUpFilesTest(TerminationCase):
    """bash reads .bashrc for every command of sshd's, so for the second session too."""

    def home_file(self, server, name, file_name, content):
        account = server.accounts[name]
        path = os.path.join(account.home, file_name)
        with open(path, "w", encoding="ascii") as file:
            file.write(content)
        os.chown(path, account.uid, account.gid)

    def accounts(self):
        return self.server(*(Account(name, "/bin/bash", kind) for _, name, kind in login_kinds()))

    def for_each(self, bashrc, states, command="sleep @; sleep @; true"):
        server = self.accounts()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                self.home_file(server, name, ".bashrc", bashrc)
                self.ends(states, server, name, command, signal.SIGINT)

    # B092
    def test_one_that_prints(self):
        self.for_each('echo welcome; echo "sshx:seen:left" >&2; printf "no line feed"', ("terminated",))

    def test_one_that_prints_more_than_is_kept(self):
        self.for_each("head -c 300000 /dev/zero | tr '\\0' x", ("terminated", "unknown"))

    def test_one_that_leaves_something_running(self):
        self.for_each("(setsid sleep 47 > /dev/null 2>&1 < /dev/null &)", ("terminated",))

    # The budget ends the wait; what waited for this session instead would not end in time for the test.
    def test_one_that_takes_its_time(self):
        self.for_each("[ -e $HOME/once ] && sleep 1800; touch $HOME/once", ("unknown",))

    # The second session hangs in its start-up files when the second signal comes; nothing is waited for any more.
    def test_a_second_signal_leaves_at_once(self):
        server = self.accounts()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                self.home_file(server, name, ".bashrc", "[ -e once ] && { touch twice; exec sleep 1800; }; touch once")
                second = os.path.join(server.accounts[name].home, "twice")
                work = Work(self, server, name, STUBBORN, ("--json",)).begun()
                self.addCleanup(work.clear)
                work.running.signal(signal.SIGINT)
                processes.eventually(lambda path=second: os.path.exists(path), "the second session has begun")
                work.running.signal(signal.SIGINT)
                done = work.running.wait()
                self.assertEqual(done.code, 255, done)
                document = self.sshx.document(done, "sshx.result.v1")
                self.assert_stopped(document, "cancelled", "signal")
                self.assert_fields(document, remote_state="unknown")
                self.assert_kept(document, work.token)

    def test_one_that_ends_the_session(self):
        self.for_each("[ -e $HOME/once ] && exit 0; touch $HOME/once", ("unknown",))

    def test_one_that_changes_what_the_script_uses(self):
        functions = "kill() { :; }; ps() { echo no; }; export -f kill ps"
        self.for_each(f"{functions}; export LC_ALL=de_DE.UTF-8 IFS=: ENV=/nonexistent", ("terminated",))


if __name__ == "__main__":
    unittest.main()
