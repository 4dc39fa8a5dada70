"""Termination in every login shell (B090).

The script of the second session is for /bin/sh; it gets there through the account's own login shell.
"""

import os
import signal
import unittest

from tests.lab import Account, login_kinds, processes
from tests.lab.termination import STUBBORN, TerminationCase

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

# By env, because ksh93 sleeps by itself.
SLEEPS = "env sleep @; env sleep @; true"


class ShellCase(TerminationCase):
    def shell_path(self, shell):
        """The shell's path; (program, name) is a program that is another shell by another name."""
        if isinstance(shell, str):
            return shell
        program, name = shell
        path = os.path.join(self.folder(), name)
        os.symlink(program, path)
        return path


class EveryShellTest(ShellCase):
    def test_an_ordinary_account(self):
        server = self.server(*(Account(name, self.shell_path(shell)) for name, shell in SHELLS.items()))
        for name in SHELLS:
            with self.subTest(name):
                self.ends(("terminated",), server, name, SLEEPS, signal.SIGINT)

    def test_a_stubborn_command(self):
        names = ("bash", "fish", "tcsh", "ash")
        server = self.server(*(Account(name, self.shell_path(SHELLS[name])) for name in names))
        for name in names:
            with self.subTest(name):
                command = "sh -c 'trap \"\" INT; sleep @; sleep @; sleep @; true'; sleep @; true"
                self.ends(("terminated",), server, name, command, signal.SIGINT)

    def test_the_test_runners_own_account(self):
        _, name, kind = login_kinds()[0]
        for shell in ("fish", "tcsh", "zsh", "mksh"):
            with self.subTest(shell):
                server = self.server(Account(name, self.shell_path(SHELLS[shell]), kind))
                self.ends(("terminated",), server, name, SLEEPS, signal.SIGINT)


class RestrictedShellTest(ShellCase):
    """A shell that runs nothing else cannot be asked; nothing is made up in its place."""

    def test_rbash(self):
        server = self.server(Account("rita", "/bin/rbash"))
        document, _, _ = self.interrupted(server, "rita", SLEEPS, signal.SIGINT)
        self.assert_fields(document, remote_state="unknown")
        self.assert_mentions(" ".join(document["warnings"]), "restricted")

    # The protocol's own signals are left, and used.
    def test_rbash_and_a_stubborn_command(self):
        server = self.server(Account("rita", "/bin/rbash"))
        document, _, work = self.interrupted(server, "rita", STUBBORN, signal.SIGINT)
        self.assert_fields(document, remote_state="unknown")
        processes.eventually(lambda: not work.left(), "the server's signals have ended the command")

    # What it answers to the first command it may answer to the second: it is not our script that speaks.
    def test_a_shell_that_echoes_its_command(self):
        shell = os.path.join(self.folder(), "parrot")
        with open(shell, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\ncase $2 in *nonce=*) echo "$2: not allowed"; exit 1;; esac\nexec sh -c "$2"\n')
        os.chmod(shell, 0o755)
        server = self.server(*(Account(name, shell, kind) for _, name, kind in login_kinds()))
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                document, _, _ = self.interrupted(server, name, SLEEPS, signal.SIGINT)
                self.assert_fields(document, remote_state="unknown")


if __name__ == "__main__":
    unittest.main()
