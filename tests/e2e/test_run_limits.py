"""Limits of a target and of a whole run: deadlines that are real before and while the command runs, failures that count."""

import contextlib
import os
import socket
import sqlite3
import unittest

from tests.lab import LabCase, TargetCase, login_kinds
from tests.lab.scripted_case import ScriptedCase
from tests.lab.scripted_faults import silence
from tests.lab.scripted_server import PlainListener
from tests.lab.termination import STUBBORN, OneServer, TerminationCase

_DEADLINES = (("--host-timeout", "host"), ("--global-timeout", "global"))


class NothingRanCase(LabCase):
    def assert_nothing_ran(self, document, code, phase):
        self.assert_fields(
            document,
            status="failed",
            error__kind="timeout",
            error__code=code,
            error__phase=phase,
            error__retry_safety="safe",
            phase=phase,
            executed=False,
            completion="not_started",
            change_state="unchanged",
            remote_state="not_started",
            exit_code=-1,
            audit_status="written",
        )
        self.assert_mentions(document["error"]["message"], f"{code} timeout")
        self.assert_mentions(document["error"]["hint"], f"--{code}-timeout")


class BeforeTheCommandTest(NothingRanCase, ScriptedCase):
    def run_at(self, listener, *options):
        self.sshx.trust("* " + self.lab.key(name="host").public_line)
        return self.sshx.json(
            "run", f"--address=alice@{listener.address}:{listener.port}", "--identity", self.lab.key().path, *options,
            "--", "true", code=255, version="sshx.result.v1",
        )  # fmt: skip

    def listener(self, **options):
        listener = PlainListener(**options)
        self.addCleanup(listener.stop)
        return listener

    def test_a_server_that_says_nothing(self):
        for option, code in _DEADLINES:
            with self.subTest(option):
                self.assert_nothing_ran(self.run_at(self.listener(), option, "1s"), code, "connect")

    def test_a_key_exchange_that_stops(self):
        for option, code in _DEADLINES:
            with self.subTest(option):
                document = self.run_at(self.listener(greeting=b"SSH-2.0-Fake_1\r\n"), option, "1s")
                self.assert_nothing_ran(document, code, "connect")

    def test_the_earliest_is_named(self):
        for options, kind, code in (
            (("--host-timeout", "1s", "--global-timeout", "60s"), "timeout", "host"),
            (("--host-timeout", "60s", "--global-timeout", "1s"), "timeout", "global"),
            (("--host-timeout", "60s", "--global-timeout", "60s", "--connect-timeout", "1s"), "connect", "timeout"),
        ):
            with self.subTest(options):
                document = self.run_at(self.listener(), *options)
                self.assert_fields(document, error__kind=kind, error__code=code, executed=False)

    # What it said is the better answer.
    def test_a_server_that_is_not_ssh(self):
        listener = self.listener(greeting=b"hello\r\n" * 100000)
        document = self.run_at(listener, "--host-timeout", "1s")
        self.assert_fields(document, error__kind="connect", error__code="not_ssh", executed=False)

    def test_the_login_and_the_channel(self):
        for fault, phase in (("authentication", "authenticate"), ("channel open", "execute")):
            for option, code in _DEADLINES:
                with self.subTest(fault=fault, option=option):
                    self.sshx = self.lab.sshx()
                    server = self.scripted(faults={fault: silence})
                    document = self.run_fake(option, "3s", code=255)
                    self.assert_nothing_ran(document, code, phase)
                    self.assertEqual(server.commands, [])

    def test_a_terminal_that_is_not_given(self):
        self.scripted(faults={"channel open": silence})
        done = self.sshx.expect(255, "run", "--target", "fake", "--pty", "--host-timeout", "3s", "--", "work")
        self.assert_mentions(done.error_text, "host timeout", "--host-timeout")

    def test_an_agent_that_does_not_answer(self):
        path = os.path.join(self.lab.new_directory("a"), "s")
        listener = self.listener()
        with socket.socket(socket.AF_UNIX) as agent:
            agent.bind(path)
            agent.listen()
            document = self.run_at(listener, "--identity-agent", path, "--host-timeout", "1s")
        self.assert_nothing_ran(document, "host", "authenticate")
        self.assertEqual(listener.connections, [])

    # Sent, so that nobody knows whether it runs.
    def test_a_request_that_is_not_answered(self):
        for option, code in _DEADLINES:
            with self.subTest(option):
                self.sshx = self.lab.sshx()
                server = self.scripted(accept_exec="never")
                document = self.run_fake(option, "3s", code=255)
                self.assert_fields(
                    document, error__kind="timeout", error__code=code, executed=None, completion="unknown",
                    remote_state="unknown", error__retry_safety="verify_first",
                )  # fmt: skip
                self.assertEqual(server.commands, [b"work"])


class EvidenceTest(NothingRanCase, TargetCase):
    # The whole run: time that the evidence took is gone, and no packet is sent any more.
    def test_evidence_counts_for_the_whole_run(self):
        self.run_json("true", code=0)
        before = self.server.connections()
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            document = self.run_json("true", options=("--global-timeout", "100ms"), code=255)
            holder.execute("ROLLBACK")
        self.assert_fields(
            document, error__kind="timeout", error__code="global", phase="connect", executed=False, audit_status="failed",
            peers=[],
        )  # fmt: skip
        self.assertEqual(self.server.connections(), before)


class WhileItRunsTest(OneServer, TerminationCase):
    def test_the_command_is_ended_and_looked_for(self):
        for label, name, _ in login_kinds():
            for trigger in ("host-timeout", "global-timeout"):
                with self.subTest(account=label, trigger=trigger):
                    self.ends(("terminated",), self._server, name, "sleep @; true", trigger)

    # Whether there is time for every signal depends on the machine; what is said of it must be true.
    def test_a_command_that_resists(self):
        for label, name, _ in login_kinds():
            for trigger in ("host-timeout", "global-timeout"):
                with self.subTest(account=label, trigger=trigger):
                    self.interrupted(self._server, name, STUBBORN, trigger)

    def test_the_earliest_is_named(self):
        (_, name, _), *_ = login_kinds()
        later = {
            "timeout": ("--host-timeout", "60s", "--global-timeout", "60s"),
            "host-timeout": ("--timeout", "60s", "--global-timeout", "60s"),
            "global-timeout": ("--timeout", "60s", "--host-timeout", "60s"),
        }
        for trigger, options in later.items():
            with self.subTest(trigger):
                self.interrupted(self._server, name, "sleep @; true", trigger, options)

    def test_text_mode_says_so(self):
        (_, name, _), *_ = login_kinds()
        token = self.unique_number()
        self.addCleanup(self.kill_with_argument, token)
        words = ("run", "--target", name, "--host-timeout", "4s", "--", f"echo begun; sleep {token}; true")
        done = self.sshx.expect(255, *words)
        self.assertEqual(done.out, b"begun\n")
        self.assert_mentions(done.error_text, "sshx: ", "host timeout", "--host-timeout")


class LimitsTest(TargetCase):
    def test_limits_that_are_kept_change_nothing(self):
        options = ("--host-timeout", "1m", "--global-timeout", "1h", "--max-failures", "3")
        document = self.run_json("exit 3", options=options, code=3)
        self.assert_fields(
            document,
            error_kind="remote_exit",
            limits__host_timeout_ms=60000,
            limits__global_timeout_ms=3600000,
            limits__fail_fast=False,
            limits__max_failures=3,
        )
        document = self.run_json("exit 3", options=("--fail-fast",), code=3)
        self.assert_fields(document, completion="completed", limits__fail_fast=True, limits__max_failures=None)

    def test_each_counts_for_the_plan(self):
        hashes = set()
        choices = ((), ("--host-timeout", "60s"), ("--host-timeout", "61s"), ("--global-timeout", "60s"), ("--fail-fast",),
                   ("--max-failures", "1"), ("--max-failures", "2"))  # fmt: skip
        for options in choices:
            preview = self.run_json("true", options=("--dry-run", *options), code=0)
            hashes.add(preview["plan"]["plan_hash"])
            result = self.run_json("true", options=options, code=0)
            self.assertEqual(result["plan_hash"], preview["plan"]["plan_hash"])
            self.assertEqual(result["limits"], preview["plan"]["limits"])
        self.assertEqual(len(hashes), len(choices))

    def test_the_text_of_a_plan_names_the_deadlines(self):
        words = ("run", "--target", "target", "--dry-run", "--host-timeout", "90s", "--global-timeout", "2m", "--", "true")
        self.assert_mentions(self.sshx.ok(*words).text, "host 90s", "all 120s")

    def test_two_failure_limits_are_a_conflict(self):
        for preview in ((), ("--dry-run",)):
            document = self.run_json("true", options=("--fail-fast", "--max-failures", "2", *preview), code=255)
            self.assert_fields(document, error__kind="config", error__code="request_conflict")
            self.assert_mentions(document["error"]["message"], "--fail-fast", "--max-failures")
        self.assertFalse(os.path.exists(self.sshx.audit_path))

    def test_out_of_range(self):
        for option in ("--host-timeout=0", "--host-timeout=25h", "--global-timeout=0.05", "--global-timeout=86401",
                       "--max-failures=0", "--max-failures=10001"):  # fmt: skip
            with self.subTest(option):
                document = self.run_json("true", options=(option,), code=255)
                self.assert_fields(document, error__kind="config", error__code="range")
                self.assert_mentions(document["error"]["message"], option.split("=")[0])

    def test_in_a_request(self):
        request = b'{"targets":["target"],"command":"true","host_timeout_seconds":90.5,"global_timeout_seconds":120,' \
                  b'"max_failures":1,"fail_fast":false}'  # fmt: skip
        document = self.sshx.json("run", "--request", "-", stdin=request, code=0)
        self.assert_fields(
            document, limits__host_timeout_ms=90500, limits__global_timeout_ms=120000, limits__max_failures=1
        )


if __name__ == "__main__":
    unittest.main()
