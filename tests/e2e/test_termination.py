"""What a stopped command leaves behind, whatever it is: nothing, or the result does not say `terminated` (design §7).

B020, B029: the deadline or the cancellation ends the remote work and proves it.
"""

import signal
import unittest

from tests.lab import login_kinds
from tests.lab.termination import OneServer, TerminationCase

# Each of them must be seen to be gone. `@` is a number of seconds that occurs nowhere else.
ENDED = {
    "a plain sleep": "sleep @",
    "a sleep below the login shell": "sleep @; true",
    "traps INT": "trap '' INT; sleep @; sleep @; sleep @; true",
    "ignores HUP": "trap '' HUP; sleep @; true",
    "nohup": "nohup sleep @ > /dev/null; true",
    "jobs in the background, which ignore INT": "sleep @ & sleep @ & wait; true",
    "jobs in groups of their own": "set -m; sleep @ & sleep @ & wait; true",
    "a group of its own": "timeout @ sleep @; true",
    "a group of its own that traps INT": "timeout @ sh -c \"trap '' INT; sleep @; sleep @; true\"; true",
    "a double tree": "sh -c 'sh -c \"sleep @; true\"; true' & sh -c 'sh -c \"sleep @; true\"; true'; true",
    "a pipeline": "sleep @ | cat | (sleep @; cat); true",
    "an orphan in the shell's group": "(sleep @ &); sleep @; true",
    "stopped by itself": "sleep @ & kill -STOP $$; true",
    "endless output": "yes @; true",  # B013
    "endless output to both streams": "yes @ & yes @ >&2; true",
}

# Orphans in groups of their own, which no parent link leads to.
ORPHANS = {
    "an orphan in its own group": "(timeout @ sleep @ &); sleep @; true",
    "an orphan in its own group whose shell ignores INT": "trap '' INT; (timeout @ sleep @ &); sleep @; sleep @; true",
    "an orphan with an empty environment": "(env -i timeout @ sleep @ &); sleep @; true",
    "an orphan born of TERM": "trap 'timeout @ sleep @ & exit' TERM; trap '' INT; sleep @ & wait; sleep @; true",
    "an orphan born of INT": "trap 'timeout @ sleep @ & exit' INT; sleep @ & wait; sleep @; true",
}


class EveryCommandTest(OneServer, TerminationCase):
    def for_each(self, commands, states, trigger):
        kinds = login_kinds()
        self.assertTrue(kinds)
        for label, name, _ in kinds:
            for what, command in commands.items():
                with self.subTest(account=label, command=what):
                    _, left, _ = self.ends(states, self._server, name, command, trigger)
                    self.assertEqual(left, [])

    # B020
    def test_at_the_deadline(self):
        some = ("a sleep below the login shell", "traps INT", "a group of its own", "endless output")
        self.for_each({what: ENDED[what] for what in some}, ("terminated",), "timeout")

    # B029
    def test_at_an_interrupt(self):
        self.for_each(ENDED, ("terminated",), signal.SIGINT)

    def test_a_command_that_traps_all_it_can(self):
        command = "trap '' INT TERM HUP; sleep @; sleep @; sleep @; sleep @; sleep @; true"
        self.for_each({"traps INT and TERM": command}, ("terminated",), signal.SIGTERM)

    # Seen to be gone or not known: a group that no parent link leads to must not be forgotten.
    def test_orphans_are_not_forgotten(self):
        for label, name, _ in login_kinds():
            for what, command in ORPHANS.items():
                with self.subTest(account=label, command=what):
                    # assert_honest is the point here: `terminated` and something left is a failure.
                    document, _, _ = self.interrupted(self._server, name, command, signal.SIGINT)
                    self.assertIn(document["remote_state"], ("terminated", "unknown", "running"))

    # §7: a daemon is left alone, and says nothing about the command that started it.
    def test_a_daemon_is_left_alone(self):
        daemons = {
            "setsid": "(setsid sleep % > /dev/null 2>&1 < /dev/null &); sleep @; true",
            "a daemon that forked twice": "setsid sh -c 'sleep % &' > /dev/null 2>&1 < /dev/null; sleep @; true",
        }
        for label, name, _ in login_kinds():
            for what, template in daemons.items():
                with self.subTest(account=label, daemon=what):
                    self.daemon_survives(name, template)

    def daemon_survives(self, name, template):
        daemon = self.unique_number()
        self.addCleanup(lambda: self.kill_with_argument(daemon))
        document, left, _ = self.interrupted(self._server, name, template.replace("%", daemon), signal.SIGINT)
        self.assertEqual(left, [])
        self.assertIn(document["remote_state"], ("terminated", "unknown"))
        self.assertEqual(len(self.processes_with(daemon)), 1, "the daemon was ended")

    # A step gives the command the time to put things right.
    def test_a_trap_has_time_to_clean_up(self):
        for label, name, _ in login_kinds():
            for options in ((), ("--second-channel", "never")):
                if label == "root" and options:
                    continue  # OpenSSH delivers no signal to root's commands.
                with self.subTest(account=label, options=options):
                    command = "trap 'sleep 0.1; touch cleaned-@; exit' INT; sleep @ & wait; sleep @; true"
                    _, _, work = self.interrupted(self._server, name, command, signal.SIGINT, options)
                    self.assert_exists(f"{work.home}/cleaned-{work.token}")

    # Exactly once: whatever happens, the command is not started again.
    def test_the_command_runs_once(self):
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                command = "echo run >> runs-@; trap '' INT TERM; sleep @; sleep @; sleep @; true"
                _, _, work = self.interrupted(self._server, name, command, signal.SIGINT)
                with open(f"{work.home}/runs-{work.token}", encoding="ascii") as file:
                    self.assertEqual(file.read(), "run\n")


if __name__ == "__main__":
    unittest.main()
