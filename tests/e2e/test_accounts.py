"""The laboratory's made-up accounts: what they promise must hold, or the tests that log in to them prove nothing."""

import os
import unittest

from tests.lab import Account, LabCase, login_kinds

# B090: the shells that people log in with; all of them are test dependencies (scripts/packages).
SHELLS = (
    "/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/bin/tcsh", "/bin/mksh", "/usr/bin/fish", "/bin/ksh93", "/bin/rbash",
)  # fmt: skip


class AccountsTest(LabCase):
    def run_as(self, server, name, command):
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host(name, server, identity=self.lab.key(), user=name)
        return self.sshx.json("run", "--target", name, "--", command, code=0)["stdout"].splitlines()

    def test_there_is_an_account_to_test_with(self):
        names = [name for name, _, _ in login_kinds()]
        self.assertIn("ordinary", names)
        self.assertEqual("root" in names, os.geteuid() == 0)

    def test_each_kind_logs_in_with_its_own_uid_home_and_rights(self):
        accounts = tuple(Account(name, kind=kind) for _, name, kind in login_kinds())
        server = self.lab.server(accounts=accounts)
        for label, name, _ in login_kinds():
            with self.subTest(label):
                account = server.accounts[name]
                said = self.run_as(server, name, 'id -u; id -g; id -G; pwd; echo "$HOME"; echo > "$HOME/mine"; ls "$HOME"')
                numbers = [str(account.uid), str(account.gid), str(account.gid)]
                self.assertEqual(said, [*numbers, account.home, account.home, "mine"])
                self.assertEqual(label == "root", account.uid == 0)

    def test_no_session_inherits_the_preloaded_library(self):
        _, name, kind = login_kinds()[-1]
        server = self.lab.server(accounts=(Account(name, kind=kind),))
        command = "env | grep -c -e LD_PRELOAD -e NSS_WRAPPER; grep -c nss_wrapper /proc/self/maps; true"
        self.assertEqual(self.run_as(server, name, command), ["0", "0"])

    def test_every_login_shell_is_the_one_that_was_asked_for(self):
        accounts = tuple(Account(os.path.basename(shell), shell) for shell in SHELLS)
        server = self.lab.server(accounts=accounts)
        for shell in SHELLS:
            with self.subTest(shell):
                name = os.path.basename(shell)
                own = "$fish_pid" if name == "fish" else "$$"
                (said,) = self.run_as(server, name, f"tr '\\0' ' ' < /proc/{own}/cmdline; echo")
                self.assertTrue(said.startswith(f"{name} -c"), said)

    def test_a_real_account_of_the_system_is_not_there(self):
        server = self.lab.server(accounts=(Account("mallory"),))
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("target", server, identity=self.lab.key(), user="daemon")
        document = self.sshx.json("run", "--target", "target", "--", "true", code=255)
        self.assert_fields(document, error_kind="auth", executed=False)


if __name__ == "__main__":
    unittest.main()
