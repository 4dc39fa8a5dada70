"""Somebody holds the lock of the evidence and does not let go: runs, queries and refusals go on."""

import contextlib
import os
import signal
import sqlite3
import unittest

from tests.e2e.test_audit import AuditCase
from tests.lab import eventually
from tests.lab import evidence
from tests.lab.processes import descendants, stop


class LockedStoreTest(AuditCase):
    # B171: somebody holds the write lock and does not let go.
    def test_best_effort_stands_and_required_refuses(self):
        self.run_json("true", code=0)
        before = self.server.connections()
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            document = self.run_json("exit 4", code=4)
            self.assert_fields(document, audit_status="failed", exit_code=4)
            connections = self.server.connections()
            self.assertGreater(connections, before)
            document = self.run_json("exit 4", options=("--audit", "required"), code=255)
            self.assert_fields(document, error__kind="busy", error__code="audit_locked", executed=False)
            self.assertEqual(self.server.connections(), connections)
            # Reading needs no lock.
            self.assertEqual(self.query()["count"], 1)
            holder.execute("ROLLBACK")
        self.assert_fields(self.run_json("true", code=0), audit_status="written")


class StoppedWriterTest(AuditCase):
    """An sshx that was stopped in the middle of a record, as by ^Z or a debugger."""

    def setUp(self):
        super().setUp()
        self.run_json("true", options=("--request-id", "before"), code=0)
        self.writer = self.sshx.start(
            "run", "--target", "target", "--request-id", "stopped", "--", "true",
            prefix=("strace", "-f", "-qq", "-o", "/dev/null", "-P", self.sshx.audit_path + "-wal",
                    "-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=SIGSTOP:when=1"),
            environment=self.traced_environment(),
        )  # fmt: skip
        self.addCleanup(stop, self.writer.process)
        eventually(self.is_locked, "the writer has the lock")

    def traced_environment(self):
        """The sanitizer cannot look for leaks in a process that is traced."""
        return {"ASAN_OPTIONS": self.sshx.environment["ASAN_OPTIONS"] + ":detect_leaks=0"}

    def is_locked(self):
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path, timeout=0, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            database.execute("ROLLBACK")
            return False

    # B171
    def test_others_run_and_say_that_nothing_was_kept(self):
        for code in (4, 5):
            document = self.run_json(f"exit {code}", code=code)
            self.assert_fields(document, audit_status="failed", error_kind="remote_exit", executed=True)
            (warning,) = document["warnings"]
            self.assert_mentions(warning, self.sshx.audit_path, "lock")
        done = self.sshx.expect(6, "run", "--target", "target", "--", "echo out; exit 6")
        self.assertEqual(done.out, b"out\n")
        self.assert_mentions(done.error_text, "no evidence is kept")

    # B171
    def test_required_refuses_before_any_effect(self):
        before = self.server.connections()
        mark = os.path.join(self.sshx.directory, "mark")
        document = self.run_json(f"touch {mark}", options=("--audit", "required"), code=255)
        self.assert_fields(
            document, error__kind="busy", error__code="audit_locked", executed=False, audit_status="failed"
        )
        self.assert_mentions(document["error"]["hint"], "stopped")
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.server.connections(), before)

    # B171
    def test_queries_answer(self):
        self.assertEqual(self.request_ids(), ["before"])
        (event,) = self.query()["events"]
        self.assertEqual(self.sshx.json("audit", "show", event["execution_id"], code=0)["count"], 1)

    # B170: no run is held up twice.
    def test_what_has_no_start_gets_no_end(self):
        trace = os.path.join(self.sshx.directory, "trace")
        self.run_json(
            "exit 4", code=4, prefix=("strace", "-f", "-qq", "-o", trace, "-e", "trace=fcntl,connect"),
            environment=self.traced_environment(),
        )  # fmt: skip
        with open(trace, encoding="utf-8") as file:
            lines = file.read().splitlines()
        # The lock of the one writer of a write-ahead log is byte 120 of its index (SQLite, "WAL-mode file format").
        tries = [number for number, line in enumerate(lines) if "F_WRLCK" in line and "l_start=120, l_len=1" in line]
        (connected,) = [number for number, line in enumerate(lines) if f"htons({self.server.port})" in line]
        self.assertTrue(tries)
        self.assertEqual([number for number in tries if number > connected], [])

    def test_all_is_well_when_it_is_gone(self):
        stop(self.writer.process)
        self.assert_fields(self.run_json("true", options=("--request-id", "after"), code=0), audit_status="written")
        self.assertEqual(self.request_ids(), ["after", "before"])
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 4)

    def goes_on(self):
        """Makes it go on; again until it has ended, since the lock is held before the stop has come."""
        for pid in descendants(self.writer.pid):
            os.kill(pid, signal.SIGCONT)
        return self.writer.has_ended()

    def test_its_own_record_is_whole_when_it_goes_on(self):
        eventually(self.goes_on, "the writer has gone on to its end")
        self.assertEqual(self.writer.wait().code, 0)
        self.assertEqual(self.request_ids(), ["stopped", "before"])
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 4)


if __name__ == "__main__":
    unittest.main()
