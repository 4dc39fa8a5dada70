"""What another user runs, what /proc hides, hosts where little is installed: never a false `terminated`."""

import os
import shutil
import signal
import unittest

from tests.lab import Account, login_kinds, processes
from tests.lab.termination import STUBBORN, TerminationCase, alone

# As root the laboratory can make programs that run as another user than the login; nobody else can.
_BECOME = {
    "the command itself": "exec {become} sleep @",
    "below the login shell": "{become} sleep @; true",
    "in the background": "{become} sleep @ & sleep @; true",
    "an orphan in the shell's group": "({become} sleep @ &); sleep @; true",
    "an orphan in its own group": "({become} timeout @ sleep @ &); sleep @; true",
    "an orphan where INT is ignored": "trap '' INT; ({become} timeout @ sleep @ &); sleep @; sleep @; true",
    "in a session of its own": "{become} setsid -w sleep @; true",
}
SURVIVORS = _BECOME if os.geteuid() == 0 else {}


class OtherUserTest(TerminationCase):
    """What sudo and its like start belongs to another user: this login may neither end it nor always see it."""

    def become(self):
        path = os.path.join(self.folder(), "become")
        shutil.copy("/usr/bin/setpriv", path)
        os.chmod(path, 0o4755)
        return f"{path} --reuid 0 --regid 0 --clear-groups"

    @staticmethod
    def wait_for_the_other_user(work):
        processes.eventually(lambda: work.sleepers(uid=0), "what runs as the other user sleeps")

    def check(self, **options):
        self.assertEqual(bool(SURVIVORS), os.geteuid() == 0)
        become, server = self.become() if SURVIVORS else "", self.server(Account("mallory"), **options)
        for what, template in SURVIVORS.items():
            with self.subTest(what):
                command = template.replace("{become}", become)
                document, left, _ = self.interrupted(
                    server, "mallory", command, signal.SIGINT, before_stop=self.wait_for_the_other_user
                )
                self.assertNotEqual(left, [], "the survivor was to survive")
                self.assertIn(document["remote_state"], ("running", "unknown"))

    def test_it_is_not_called_terminated(self):
        self.check()

    def test_nor_where_proc_hides_it(self):
        for options in ("hidepid=1", "hidepid=2"):
            with self.subTest(options):
                self.check(prefix=alone(options))

    def test_a_hidden_proc_makes_nothing_else_wrong(self):
        server = self.server(prefix=alone("hidepid=2"))
        for label, name, _ in login_kinds():
            for command in ("sleep @; true", "(timeout @ sleep @ &); sleep @; true", STUBBORN):
                with self.subTest(account=label, command=command):
                    self.interrupted(server, name, command, signal.SIGINT)

    # Where it cannot look, the protocol's own signals are left, and used.
    def test_a_stubborn_command_is_ended_where_proc_is_hidden(self):
        server = self.server(prefix=alone("hidepid=2"))
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                _, _, work = self.interrupted(server, name, STUBBORN, signal.SIGINT)
                processes.eventually(lambda work=work: not work.left(), "the command was ended")


class BusyHostTest(TerminationCase):
    """Other accounts' processes come and go; they are not ended, and hardly ever a reason not to know."""

    def test_a_daemon_of_another_account_that_came_later(self):
        server = self.server()
        for label, name, _ in login_kinds():
            for other_label, other, _ in login_kinds():
                with self.subTest(account=name, other=other):
                    # What root runs without a session's leader may be what sudo left: an ordinary login cannot tell.
                    undecidable = (label, other_label) == ("ordinary", "root")
                    states = ("terminated", "unknown") if undecidable else ("terminated",)
                    self.check(server, name, other, states)

    def check(self, server, name, other, states):
        number = self.unique_number()
        self.addCleanup(lambda: self.kill_with_argument(number))

        def start_daemon(_work):
            self.sshx.ok("run", "--target", other, "--", f"setsid sh -c 'sleep {number} &' > /dev/null 2>&1")

        self.ends(states, server, name, "sleep @; true", signal.SIGINT, before_stop=start_daemon)
        self.assertNotEqual(self.processes_with(number), [], "the other daemon was ended")


class NoToolsTest(TerminationCase):
    """The second session needs little on the host, and says nothing wrong where that is missing."""

    TOOLS = ("sh", "sleep", "touch", "timeout", "grep", "ps", "env", "cat")

    def tools(self, *missing):
        folder = self.folder()
        for tool in set(self.TOOLS) - set(missing):
            os.symlink(shutil.which(tool), os.path.join(folder, tool))
        return f"SetEnv PATH={folder}"

    def check(self, commands, states, *missing):
        server = self.server(config=(self.tools(*missing),))
        for label, name, _ in login_kinds():
            for command in commands:
                with self.subTest(account=label, command=command):
                    self.ends(states, server, name, command, signal.SIGINT)

    def test_without_ps(self):
        self.check(("sleep @; true", "trap '' INT; sleep @; sleep @; sleep @; true"), ("terminated",), "ps")

    def test_without_grep(self):
        commands = ("(timeout @ sleep @ &); sleep @; true", "sleep @; true")
        self.check(commands, ("terminated", "unknown"), "grep")

    def test_without_any(self):
        self.check(("(timeout @ sleep @ &); sleep @; true",), ("terminated", "unknown"), "ps", "grep")


if __name__ == "__main__":
    unittest.main()
