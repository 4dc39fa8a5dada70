"""`--die-with-parent`: a run whose caller is killed is cancelled, its command ended and the evidence finished."""

import os
import signal
import subprocess
import sys
import unittest

from tests.lab import TargetCase, eventually, processes

# Starts what follows, says its process id, and waits to be killed.
_PARENT = (
    "import subprocess, sys; child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL);"
    "print(child.pid, flush=True); child.wait()"
)


class ParentDeathTest(TargetCase):
    def start(self, *options):
        """A parent with `sshx run` below it, whose command waits for the file `gate`; (parent, sshx's pid, gate)."""
        gate = os.path.join(self.lab.new_directory("g"), "gate")
        command = f"echo $$ > {gate}.pid; while [ ! -e {gate} ]; do sleep 0.05; done; touch {gate}.end"
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
