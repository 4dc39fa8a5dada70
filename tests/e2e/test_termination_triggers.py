"""Everything that stops a command before its end: deadline, signals, a reader that goes away, and what is said then.

B029: the result, the exit code and the evidence; B020: the remote command is ended; B192: by Ctrl-C too.
"""

import signal
import threading
import unittest

from tests.lab import login_kinds, processes
from tests.lab.scripted_server import ScriptedServer
from tests.lab.termination import OneServer, TerminationCase, Work, processes_with_argument, run_until_reader_goes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TriggerTest(OneServer, TerminationCase):
    def test_each_signal_and_the_deadline(self):
        for label, name, _ in login_kinds():
            for trigger in (*SIGNALS, "timeout"):
                with self.subTest(account=label, trigger=trigger):
                    self.ends(("terminated",), self._server, name, "sleep @; true", trigger)

    def test_whatever_the_input_is(self):
        content = self.lab.path("content")
        with open(content, "w", encoding="ascii") as file:
            file.write("1\n2\n")
        inputs = {
            "data": (("--stdin-file", content), {}),  # B041
            "inherited and open": (("--stdin",), {"stdin": "pipe"}),
            "held open": (("--stdin-hold",), {}),
        }
        for label, name, _ in login_kinds():
            for what, (options, start) in inputs.items():
                with self.subTest(account=label, input=what):
                    command = "sleep @ & cat; wait"
                    self.ends(("terminated",), self._server, name, command, signal.SIGINT, options, **start)

    # B192: what waits for its input is ended as well.
    def test_a_command_that_waits_for_input(self):
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                command = "read x; : @"
                self.ends(("terminated",), self._server, name, command, signal.SIGINT, ("--stdin",), stdin="pipe")

    def test_a_terminal(self):
        for label, name, _ in login_kinds():
            for trigger, kind in ((signal.SIGTERM, "cancelled"), (None, "timeout")):
                with self.subTest(account=label, kind=kind):
                    options = ("--pty", *(() if trigger else ("--timeout", "2s")))
                    work = Work(self, self._server, name, "test -t 1 && echo begun; sleep @; true", options)
                    self.addCleanup(work.clear)
                    work.running.wait_for(b"begun")
                    if trigger:
                        work.running.signal(trigger)
                    self.assertEqual(work.running.wait().code, 255)
                    self.assert_event(work, error_kind=kind)

    def test_text_mode_says_so(self):
        for label, name, _ in login_kinds():
            for number in SIGNALS:
                with self.subTest(account=label, signal=number):
                    work = Work(self, self._server, name, "echo begun; sleep @; true")
                    self.addCleanup(work.clear)
                    work.running.wait_for(b"begun\n")
                    work.running.signal(number)
                    done = work.running.wait()
                    self.assertEqual((done.code, done.out), (255, b"begun\n"), done)
                    self.assertTrue(done.err.startswith(b"sshx: "), done)
                    self.assert_event(work, error_kind="cancelled")

    def test_a_reader_that_goes_away(self):
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                token = self.unique_number()
                done = run_until_reader_goes(
                    self.sshx,
                    ("run", "--target", name, "--request-id", token, "--", f"yes {token}; sleep {token}; true"),
                    token.encode("ascii"),
                )
                self.assertEqual(done.code, 255, done)
                (event,) = self.sshx.json("audit", "query", "--request-id", token, code=0)["events"]
                self.assert_fields(event, error_kind="local_io", outcome="failed")
                self.assertIn(event["remote_state"], ("terminated", "unknown"))
                if event["remote_state"] == "terminated":
                    self.assertEqual(processes_with_argument(token), [])

    # Nothing of the run is left on this side either.
    def test_no_process_and_no_connection_is_left_here(self):
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                _, _, work = self.ends(("terminated",), self._server, name, "sleep @; true", signal.SIGTERM)
                self.assertEqual(processes_with_argument(work.token), [])
                processes.eventually(lambda: not self.live_connections(), "the connection is closed")

    def live_connections(self):
        with open("/proc/net/tcp", encoding="ascii") as file:
            fields = [line.split() for line in file.readlines()[1:]]
        local = f":{self._server.port:04X}"
        return [line for line in fields if line[1].endswith(local) and line[3] == "01"]

    def assert_event(self, work, **expected):
        (event,) = self.sshx.json("audit", "query", "--request-id", work.token, code=0)["events"]
        self.assert_fields(event, outcome="failed", **expected)
        self.assertIn(event["remote_state"], ("terminated", "unknown"))
        if event["remote_state"] == "terminated":
            self.assertEqual(work.left(), [])


class ImpatienceTest(OneServer, TerminationCase):
    """A second signal leaves at once, whatever the remote side still does."""

    def test_a_second_signal_leaves_at_once(self):
        pairs = ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM))
        for first, second in pairs:
            with self.subTest(first=first.name, second=second.name):
                document = self.twice(first, second)
                self.assert_stopped(document, "cancelled", "signal")
                self.assert_fields(document, remote_state="unknown")
                self.assert_mentions(" ".join(document["warnings"]), "may still run")

    def twice(self, first, second):
        """Sends the second signal when the server, which answers none, has been asked to signal the command."""
        listens, asked = threading.Event(), threading.Event()

        def script(exchange):
            exchange.on_request(lambda *_: asked.set())
            listens.set()
            exchange.hold()

        server = ScriptedServer(self.lab.key(name="host"), script)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        request_id = self.unique_number()
        running = self.sshx.start(
            "run", "--address", f"alice@{server.address}:{server.port}", "--identity", self.lab.key().path,
            "--request-id", request_id, "--json", "--", "work",
        )  # fmt: skip
        processes.eventually(listens.is_set, "the command has come")
        running.signal(first)
        processes.eventually(asked.is_set, "the server was asked to signal the command")
        running.signal(second)
        done = running.wait()
        self.assertEqual(done.code, 255, done)
        document = self.sshx.document(done, "sshx.result.v1")
        self.assert_kept(document, request_id)
        return document


class IgnoredSignalTest(OneServer, TerminationCase):
    """A signal that the caller had set to be ignored stays ignored: nohup, and `sshx … &` in a script."""

    def run_ignoring(self, prefix, number):
        _, name, _ = login_kinds()[-1]
        work = Work(
            self, self._server, name, "until [ -e go-@ ]; do sleep 0.02; done; echo done", ("--json",), prefix=prefix
        )
        work.begun()
        work.running.signal(number)
        # It goes on: the command ends by itself, and only then sshx does.
        with open(f"{work.home}/go-{work.token}", "w", encoding="ascii"):
            pass
        done = work.running.wait()
        self.assertEqual(done.code, 0, done)
        self.assert_fields(self.sshx.document(done), success=True, remote_state="exited", stdout="done\n")

    def test_nohup(self):
        self.run_ignoring(("nohup",), signal.SIGHUP)

    def test_a_background_job_of_a_script(self):
        self.run_ignoring(("env", "--ignore-signal=INT"), signal.SIGINT)

    def test_and_nothing_else_is_ignored(self):
        _, name, _ = login_kinds()[-1]
        self.ends(("terminated",), self._server, name, "sleep @; true", signal.SIGTERM, prefix=("nohup",))


class LateReplyTest(TerminationCase):
    """B021: the answer to the exec request is late, and nobody knows whether the command runs."""

    def start(self, server, *options):
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        running = self.sshx.start(
            "run", "--address", f"alice@{server.address}:{server.port}", "--identity", self.lab.key().path,
            *options, "--json", "--", "work",
        )  # fmt: skip
        processes.eventually(lambda: server.commands, "the exec request has come")
        return running

    def test_no_reply_at_all(self):
        server = ScriptedServer(self.lab.key(name="host"), accept_exec="never")
        document = self.sshx.document(self.start(server, "--timeout", "1s").wait(), "sshx.result.v1")
        self.assert_fields(
            document, error__kind="timeout", executed=None, completion="unknown", remote_state="unknown", exit_code=-1
        )
        self.assertNotEqual(document["error"]["retry_safety"], "safe")

    def test_a_reply_that_comes_after_the_cancellation(self):
        server = _LateServer(self.lab.key(name="host"))
        running = self.start(server)
        running.signal(signal.SIGINT)
        server.gate.set()
        # It was started after all: the result says so, and does not call it ended.
        document = self.sshx.document(running.wait(), "sshx.result.v1")
        self.assert_stopped(document, "cancelled", "signal")
        self.assert_fields(document, remote_state="unknown")

    def test_a_refusal_that_comes_after_the_cancellation(self):
        server = _LateServer(self.lab.key(name="host"), accept_exec=False)
        running = self.start(server)
        running.signal(signal.SIGINT)
        server.gate.set()
        document = self.sshx.document(running.wait(), "sshx.result.v1")
        self.assert_fields(document, success=False, exit_code=-1)
        self.assertNotIn(document["remote_state"], ("terminated", "running", "exited"))
        self.assertNotEqual(document["executed"], True)


class _LateServer(ScriptedServer):
    """Answers the exec request when the test opens the gate."""

    def __init__(self, host_key, **options):
        self.gate = threading.Event()
        super().__init__(host_key, **options)

    def request_exec(self, command):
        self.commands.append(command)
        self.gate.wait()
        return bool(self._accept_exec)


class ManyAccountsTest(TerminationCase):
    """One connection's end is not another's: the same account works on in its other connections."""

    def test_another_connection_of_the_account_goes_on(self):
        server = self.server()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                patient = "until [ -e go-@ ]; do sleep 0.02; done; echo done"
                other = Work(self, server, name, patient, ("--json",)).begun()
                self.interrupted(server, name, "trap '' INT TERM; sleep @; sleep @; sleep @; true", signal.SIGINT)
                with open(f"{other.home}/go-{other.token}", "w", encoding="ascii"):
                    pass
                document = self.sshx.document(other.running.wait())
                self.assert_fields(document, success=True, remote_state="exited", stdout="done\n")


if __name__ == "__main__":
    unittest.main()
