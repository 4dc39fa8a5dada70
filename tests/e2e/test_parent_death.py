"""`--die-with-parent`: a run whose caller is killed is cancelled, its command ended and the evidence finished."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import unittest

from tests.lab import TargetCase, eventually, processes

# Starts what follows, says its process id, and waits to be killed.
_PARENT = (
    "import subprocess, sys; child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL);"
    "print(child.pid, flush=True); child.wait()"
)
_ATTEMPTS = 4


def unread(pipe):
    """How many bytes in a pipe nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


class ParentDeathTest(TargetCase):
    def start(self, *options, traps=""):
        """A parent with `sshx run` below it, whose command waits for the file `gate`; (parent, sshx's pid, gate).

        `traps`: what the command does first; `@` in it is the gate.
        """
        gate = os.path.join(self.lab.new_directory("g"), "gate")
        command = f"echo $$ > {gate}.pid; while [ ! -e {gate} ]; do sleep 0.05; done; touch {gate}.end"
        command = traps.replace("@", gate) + command
        words = ("run", "--target", "target", *options, "--json", "--", command)
        parent = processes.start(
            [sys.executable, "-c", _PARENT, self.sshx.binary, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=self.sshx.environment, cwd=self.sshx.directory,
        )  # fmt: skip
        self.addCleanup(processes.stop, parent)
        self.addCleanup(parent.stdout.close)
        child = int(parent.stdout.readline())
        self.addCleanup(processes.kill_all, [child])
        eventually(lambda: os.path.exists(f"{gate}.pid") and os.path.getsize(f"{gate}.pid"), "the command runs")
        return parent, child, gate

    def kill(self, parent):
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()

    def only_event(self):
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        return event

    def test_the_run_is_cancelled_and_the_command_ended(self):
        parent, child, gate = self.start("--die-with-parent")
        with open(f"{gate}.pid", encoding="ascii") as file:
            remote = int(file.read())
        self.kill(parent)
        eventually(lambda: not processes.is_running(child), "sshx ends")
        event = self.only_event()
        self.assert_fields(event, outcome="failed", error_kind="cancelled", executed=True, completion="partial")
        eventually(lambda: not processes.is_running(remote), "the remote command is gone")
        self.assertFalse(os.path.exists(f"{gate}.end"))

    def test_it_is_no_second_signal(self):
        # The command tells that its end is under way, and only KILL ends it, so that the parent's end falls between.
        traps = "trap 'touch @.int' INT; trap '' TERM; "
        states = []
        # The budget for ending a command is real time; on a busy machine an honest `unknown` is tried again.
        while "terminated" not in states and len(states) < _ATTEMPTS:
            parent, child, gate = self.start("--die-with-parent", traps=traps)
            os.kill(child, signal.SIGTERM)
            eventually(lambda path=f"{gate}.int": os.path.exists(path), "the command is being ended")
            self.kill(parent)
            eventually(lambda pid=child: not processes.is_running(pid), "sshx ends")
            event = self.sshx.json("audit", "query", "--limit", "1", code=0)["events"][0]
            self.assert_fields(event, outcome="failed", error_kind="cancelled", completion="partial")
            self.assert_mentions(event["message"], "SIGTERM")
            states.append(event["remote_state"])
        self.assertIn("terminated", states)

    def test_a_parent_that_ends_before_the_request_came(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        words = ("run", "--die-with-parent", "--json", "--request", "-")
        parent = processes.start(
            [sys.executable, "-c", _PARENT.replace("stdin=subprocess.DEVNULL", "stdin=0"), self.sshx.binary, *words],
            stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.sshx.environment,
            cwd=self.sshx.directory,
        )  # fmt: skip
        os.close(reader)
        self.addCleanup(processes.stop, parent)
        self.addCleanup(parent.stdout.close)
        child = int(parent.stdout.readline())
        self.addCleanup(processes.kill_all, [child])
        os.write(writer, b"{")
        eventually(lambda: unread(writer) == 0, "sshx reads the request")
        self.kill(parent)
        # Nobody writes the rest, and the pipe stays open: only the parent's end can end it.
        eventually(lambda: not processes.is_running(child), "sshx ends")
        self.assertEqual(self.sshx.json("audit", "query", code=0)["events"], [])

    def test_without_it_the_run_goes_on_to_its_end(self):
        parent, child, gate = self.start()
        self.kill(parent)
        self.assertTrue(processes.is_running(child))
        with open(gate, "w", encoding="ascii"):
            pass
        eventually(lambda: not processes.is_running(child), "sshx ends")
        self.assertTrue(os.path.exists(f"{gate}.end"))
        # Nobody reads its document any more, which is no fault of the command.
        self.assert_fields(self.only_event(), executed=True, completion="completed", exit_code=0)


if __name__ == "__main__":
    unittest.main()
