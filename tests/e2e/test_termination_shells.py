"""Termination in every login shell, whatever its start-up files do (B090, B092).

The script of the second session is for /bin/sh; it gets there through the account's own login shell.
"""

import os
import signal
import unittest

from tests.lab import Account, login_kinds
from tests.lab.termination import TerminationCase

SHELLS = {
    "sh": "/bin/sh",
    "bash": "/bin/bash",
    "dash": "/bin/dash",
    "zsh": "/bin/zsh",
    "mksh": "/bin/mksh",
    "ksh93": "/bin/ksh93",
    "fish": "/usr/bin/fish",
    "tcsh": "/bin/tcsh",
    "csh": ("/bin/tcsh", "csh"),
    "ash": ("/bin/busybox", "ash"),
}


class ShellCase(TerminationCase):
    def shell_path(self, shell):
        """The shell's path; (program, name) is a program that is another shell by another name."""
        if isinstance(shell, str):
            return shell
        program, name = shell
        folder = self.lab.new_directory("s")
        os.chmod(folder, 0o755)
        os.chmod(self.lab.directory, 0o711)
        os.symlink(program, os.path.join(folder, name))
        return os.path.join(folder, name)

    def home_file(self, server, name, file_name, content):
        account = server.accounts[name]
        path = os.path.join(account.home, file_name)
        with open(path, "w", encoding="ascii") as file:
            file.write(content)
        os.chown(path, account.uid, account.gid)


class EveryShellTest(ShellCase):
    def test_an_ordinary_account(self):
        server = self.server(*(Account(name, self.shell_path(shell)) for name, shell in SHELLS.items()))
        for name in SHELLS:
            with self.subTest(name):
                self.ends(("terminated",), server, name, "sleep @; sleep @; true", signal.SIGINT)

    def test_a_stubborn_command(self):
        server = self.server(*(Account(name, self.shell_path(shell)) for name, shell in SHELLS.items()))
        for name in SHELLS:
            with self.subTest(name):
                command = "sh -c 'trap \"\" INT; sleep @; sleep @; sleep @; true'; sleep @; true"
                self.ends(("terminated",), server, name, command, signal.SIGINT)

    def test_the_test_runners_own_account(self):
        _, name, kind = login_kinds()[0]
        for shell in ("fish", "tcsh", "zsh", "mksh"):
            with self.subTest(shell):
                server = self.server(Account(name, self.shell_path(SHELLS[shell]), kind))
                self.ends(("terminated",), server, name, "sleep @; sleep @; true", signal.SIGINT)


class RestrictedShellTest(ShellCase):
    """A shell that runs nothing else cannot be asked; nothing is made up in its place."""

    def test_rbash(self):
        server = self.server(Account("rita", "/bin/rbash"))
        document, _, _ = self.interrupted(server, "rita", "sleep @; sleep @; true", signal.SIGINT)
        self.assert_fields(document, remote_state="unknown")
        self.assert_mentions(" ".join(document["warnings"]), "restricted")

    # What it answers to the first command it may answer to the second: it is not our script that speaks.
    def test_a_shell_that_echoes_its_command(self):
        folder = self.lab.new_directory("s")
        os.chmod(folder, 0o755)
        os.chmod(self.lab.directory, 0o711)
        shell = os.path.join(folder, "parrot")
        with open(shell, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\ncase $2 in *nonce=*) echo "$2: not allowed"; exit 1;; esac\nexec sh -c "$2"\n')
        os.chmod(shell, 0o755)
        server = self.server(*(Account(name, shell, kind) for _, name, kind in login_kinds()))
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                document, _, _ = self.interrupted(server, name, "sleep @; sleep @; true", signal.SIGINT)
                self.assert_fields(document, remote_state="unknown")


class StartUpFilesTest(ShellCase):
    """bash reads .bashrc for every command of sshd's, so for the second session too."""

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

    # It ends within the budget, or this test would wait for half an hour.
    def test_one_that_takes_its_time(self):
        self.for_each("[ -e $HOME/once ] && sleep 1800; touch $HOME/once", ("unknown",))

    def test_one_that_ends_the_session(self):
        self.for_each("[ -e $HOME/once ] && exit 0; touch $HOME/once", ("unknown",))

    def test_one_that_changes_what_the_script_uses(self):
        aliases = "kill() { :; }; ps() { echo no; }; export -f kill ps; export LC_ALL=de_DE.UTF-8 IFS=: ENV=/nonexistent"
        self.for_each(aliases, ("terminated",))


if __name__ == "__main__":
    unittest.main()
