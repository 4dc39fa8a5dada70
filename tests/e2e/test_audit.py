"""Evidence: pairs of records, queries, the chain, crashes, many writers, and what happens when it cannot be written."""

import contextlib
import glob
import json
import os
import signal
import sqlite3
import stat
import unittest

from tests.lab import LabCase, TargetCase, eventually
from tests.lab import evidence
from tests.lab.scripted_server import PlainListener


class AuditCase(TargetCase):
    def query(self, *options, code=0):
        return self.sshx.json("audit", "query", *options, code=code, version="sshx.audit.query.v1")

    def request_ids(self, *options):
        return [event["request_id"] for event in self.query(*options)["events"]]


class RecordTest(AuditCase):
    def test_a_run_leaves_a_pair(self):
        document = self.run_json("echo out; echo error >&2; exit 3", options=("--request-id", "r1"), code=3)
        started, finished = evidence.records(self.sshx.audit_path)
        for record in (started, finished):
            self.assert_fields(
                record,
                execution_id=document["execution_id"],
                run_id=document["run_id"],
                request_id="r1",
                operation="run",
                target__alias="target",
                target__address=self.server.address,
                target__port=self.server.port,
            )
        self.assert_fields(
            started,
            event="started",
            entry="cli",
            plan_hash=document["plan_hash"],
            risk="mutation",
            action__command="echo out; echo error >&2; exit 3",
            action__payload_sha256=document["action"]["payload_sha256"],
        )
        self.assert_fields(
            finished,
            event="finished",
            status="failed",
            exit_code=3,
            error__kind="remote_exit",
            error_kind="remote_exit",
            completion="completed",
            executed=True,
            stdout_bytes=4,
            stderr_bytes=6,
            execution_fingerprint=document["execution_fingerprint"],
        )

    def test_records_obey_their_schema(self):
        self.run_json("true", code=0)
        for sequence, text, row_hash in evidence.rows(self.sshx.audit_path):
            record = {**json.loads(text), "hash": row_hash}
            self.assertEqual(record["sequence"], sequence)
            self.lab.documents.validate({"schema_version": "sshx.audit.record.v1", **record})

    def test_output_is_not_kept(self):
        self.run_json("printf 'needle-%s' in-the-haystack; printf 'needle-%s' in-the-haystack >&2", code=0)
        for path in glob.glob(self.sshx.audit_path + "*"):
            with open(path, "rb") as file:
                self.assertNotIn(b"needle-in-the-haystack", file.read())

    def test_files_are_owner_only(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        self.run_json("true", code=0)
        paths = glob.glob(self.sshx.audit_path + "*")
        self.assertIn(self.sshx.audit_path, paths)
        for path in paths:
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)

    def test_a_failure_before_the_network_is_recorded_once_the_target_is_known(self):
        document = self.run_json("true", options=("--identity", "/nonexistent", "--request-id", "r"), code=255)
        (event,) = self.query("--request-id", "r")["events"]
        self.assert_fields(
            event,
            execution_id=document["execution_id"],
            outcome="failed",
            error_kind="auth",
            error_code="identity_missing",
            executed=False,
        )

    def test_the_store_may_be_elsewhere(self):
        other = os.path.join(self.sshx.directory, "other.db")
        self.run_json("true", options=("--audit-db", other), code=0)
        self.assertEqual(evidence.check_chain(other), 2)
        self.assertFalse(os.path.exists(self.sshx.audit_path))
        self.assertEqual(self.query("--audit-db", other)["count"], 1)

    def test_xdg_state_home_is_where_it_lives(self):
        self.sshx.trust("* " + self.server.host_keys["ed25519"].public_line)
        self.sshx.json(
            "run", "--address", f"{self.server.user}@{self.server.endpoint}", "--identity", self.lab.key().path,
            "--", "true", code=0, environment={"SSHX_HOME": None},
        )  # fmt: skip
        path = os.path.join(self.sshx.directory, "xdg-state", "sshx", "audit.db")
        self.assertEqual(evidence.check_chain(path), 2)


class ChainTest(AuditCase):
    def test_chain_recomputed_from_the_raw_rows(self):
        for command in ("true", "exit 3", "echo 'ü \"quoted\" \\ \t'", "kill -TERM $$"):
            self.sshx.run("run", "--target", "target", "--", command)
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 8)

    def test_the_check_itself_sees_an_edit(self):
        self.run_json("true", code=0)
        copy = os.path.join(self.sshx.directory, "copy.db")
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path)) as source, \
                contextlib.closing(sqlite3.connect(copy)) as target:  # fmt: skip
            source.backup(target)
            for name in [name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type='trigger'")]:
                target.execute(f'DROP TRIGGER "{name}"')
            target.execute("UPDATE records SET record = replace(record, '\"run\"', '\"ran\"') WHERE sequence = 1")
            target.commit()
        with self.assertRaises(AssertionError):
            evidence.check_chain(copy)

    def test_rows_can_neither_be_changed_nor_deleted(self):
        self.run_json("true", code=0)
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path)) as database:
            for statement in ("UPDATE records SET hash = 'x'", "DELETE FROM records"):
                with self.assertRaises(sqlite3.DatabaseError):
                    database.execute(statement)

    def test_an_altered_record_is_told_when_it_is_shown(self):
        self.run_json("echo original", code=0)
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path)) as database:
            for name in [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='trigger'")]:
                database.execute(f'DROP TRIGGER "{name}"')
            database.execute("UPDATE records SET record = replace(record, 'original', 'innocent')")
            database.commit()
        self.assertTrue(self.query()["warnings"])


class QueryTest(AuditCase):
    def setUp(self):
        super().setUp()
        self.sshx.add_host("other", self.server, identity=self.lab.key())
        self.first = self.run_json("true", options=("--request-id", "one"), code=0)
        self.second = self.sshx.json("run", "--target", "other", "--request-id", "two", "--", "exit 2", code=2)
        self.third = self.run_json("true", options=("--request-id", "three", "--port", "1"), code=255)

    def test_newest_first_and_joined(self):
        document = self.query()
        self.assertEqual([event["request_id"] for event in document["events"]], ["three", "two", "one"])
        self.assert_fields(document, success=True, count=3, skipped_records=0, warnings=[])
        self.assert_fields(
            document["events"][1],
            execution_id=self.second["execution_id"],
            run_id=self.second["run_id"],
            outcome="failed",
            status="failed",
            exit_code=2,
            error_kind="remote_exit",
            command="exit 2",
            entry="cli",
            operation="run",
            plan_hash=self.second["plan_hash"],
            started_sequence=3,
            finished_sequence=4,
        )
        self.assert_fields(document["events"][2], outcome="succeeded", error_kind=None, exit_code=0)

    def test_filters(self):
        for options, expected in (
            (("--target", "target"), ["three", "one"]),
            (("--target", "other"), ["two"]),
            (("--target", self.server.address), ["three", "two", "one"]),
            (("--target", "nobody"), []),
            (("--operation", "run"), ["three", "two", "one"]),
            (("--operation", "host.test"), []),
            (("--execution-id", self.first["execution_id"]), ["one"]),
            (("--run-id", self.second["run_id"]), ["two"]),
            (("--request-id", "three"), ["three"]),
            (("--error-kind", "connect"), ["three"]),
            (("--error-kind", "remote_exit"), ["two"]),
            (("--error-kind", "remote_exit", "--target", "target"), []),
            (("--limit", "2"), ["three", "two"]),
            (("--since", "1h"), ["three", "two", "one"]),
            (("--until", "1h"), []),
            (("--since", "2000-01-01"), ["three", "two", "one"]),
            (("--until", "2000-01-01"), []),
            (("--since", "2999-01-01T00:00:00Z"), []),
            (("--since", self.second["started_at"]), ["three", "two"]),
            (("--until", self.second["started_at"]), ["one"]),
            (("--since", self.second["started_at"], "--until", self.third["started_at"]), ["two"]),
        ):
            with self.subTest(options):
                self.assertEqual(self.request_ids(*options), expected)

    def test_a_limit_that_was_reached_is_told(self):
        self.assertTrue(self.query("--limit", "2")["warnings"])
        self.assertEqual(self.query("--limit", "3")["warnings"], [])

    def test_bad_filters(self):
        for options in (("--since", "yesterday"), ("--until", "2026-13-01"), ("--since", ""), ("--limit", "0"),
                        ("--limit", "10001"), ("--limit", "x"), ("--error-kind", "")):  # fmt: skip
            with self.subTest(options):
                document = self.sshx.json("audit", "query", *options, code=255)
                self.assert_fields(document, schema_version="sshx.error.v1", error_kind="config")

    def test_text_is_one_line_an_execution(self):
        done = self.sshx.ok("audit", "query")
        for document in (self.first, self.second, self.third):
            self.assertEqual(sum(document["execution_id"][:8] in line for line in done.text.splitlines()), 1, done)

    def test_show_by_id_and_by_its_beginning(self):
        for identifier in (self.second["execution_id"], self.second["execution_id"][:8]):
            document = self.sshx.json("audit", "show", identifier, code=0, version="sshx.audit.query.v1")
            (event,) = document["events"]
            self.assert_fields(event, request_id="two", exit_code=2)
            self.assertEqual([record["event"] for record in event["records"]], ["started", "finished"])
            for record in event["records"]:
                self.lab.documents.validate(record)
                self.assertEqual(record["hash"], evidence.label(evidence.canonical(
                    {name: value for name, value in record.items() if name != "hash"})))  # fmt: skip

    def test_show_what_is_not_there(self):
        document = self.sshx.json("audit", "show", "0123456789abcdef", code=255)
        self.assert_fields(document, error__kind="config", error__code="unknown_execution")
        document = self.sshx.json("audit", "show", "abc", code=255)
        self.assert_fields(document, error__kind="config")

    def test_a_query_writes_nothing(self):
        before = evidence.rows(self.sshx.audit_path)
        self.query()
        self.assertEqual(evidence.rows(self.sshx.audit_path), before)

    def test_an_empty_store(self):
        fresh = self.lab.sshx()
        document = fresh.json("audit", "query", code=0)
        self.assert_fields(document, count=0, events=[], success=True)
        self.assertFalse(os.path.exists(fresh.audit_path), "a query creates no store")

    def test_a_store_that_cannot_be_read(self):
        for path, code in (("/etc/passwd", "audit_open"), ("/", "audit_open"), ("/nonexistent/audit.db", "not_found")):
            with self.subTest(path):
                document = self.query_error("--audit-db", path)
                self.assert_fields(document, error__kind="local_io", error__code=code)
                self.assert_mentions(document["error"]["message"], path)

    def query_error(self, *options):
        return self.sshx.json("audit", "query", *options, code=255, version="sshx.error.v1")

    def test_injection_in_a_filter(self):
        self.assertEqual(self.request_ids("--target", "x' OR '1'='1"), [])
        self.assertEqual(self.request_ids("--request-id", "%"), [])


class CrashTest(AuditCase):
    # Design §1.7
    def test_kill_9_leaves_a_started_row_that_is_shown_as_unknown(self):
        mark = os.path.join(self.sshx.directory, "mark")
        running = self.sshx.start(
            "run", "--target", "target", "--request-id", "crash", "--", f"touch {mark}; sleep 60"
        )
        eventually(lambda: os.path.exists(mark), "the command runs")
        self.assertEqual(running.kill9().code, -signal.SIGKILL)
        (event,) = self.query("--request-id", "crash")["events"]
        self.assert_fields(
            event,
            outcome="unknown",
            status=None,
            finished_at=None,
            exit_code=None,
            executed=None,
            error_kind=None,
            finished_sequence=None,
            started_sequence=1,
        )
        self.run_json("true", code=0)
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 3)

    def test_the_started_row_is_there_before_the_first_packet(self):
        listener = PlainListener()
        self.addCleanup(listener.stop)
        running = self.sshx.start("run", "--target", "target", "--port", listener.port, "--", "true")
        eventually(lambda: listener.connections, "sshx has connected")
        (record,) = evidence.records(self.sshx.audit_path)
        self.assert_fields(record, event="started", target__port=listener.port)
        running.kill9()

    def test_a_running_execution_is_unknown_until_it_ends(self):
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        running = self.sshx.start("run", "--target", "target", "--request-id", "r", "--", f"echo begun; cat {gate}")
        running.wait_for(b"begun\n")
        self.assertEqual(self.query("--request-id", "r")["events"][0]["outcome"], "unknown")
        with open(gate, "w", encoding="ascii"):
            pass
        self.assertEqual(running.wait().code, 0)
        self.assertEqual(self.query("--request-id", "r")["events"][0]["outcome"], "succeeded")


class ManyWritersTest(AuditCase):
    # B170
    def test_64_parallel_runs_leave_64_complete_pairs(self):
        runs = [
            self.sshx.start(
                "run", "--target", "target", "--connect-timeout", "120s", "--request-id", f"r{number}", "--json",
                "--", f"exit {number}",
            )  # fmt: skip
            for number in range(64)
        ]
        for number, run in enumerate(runs):
            done = run.wait(timeout=150)
            self.assertEqual(done.code, number, done)
            self.assert_fields(self.sshx.document(done), audit_status="written", warnings=[])
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 128)
        events = self.query()["events"]
        self.assertEqual({event["request_id"]: event["exit_code"] for event in events}, {f"r{n}": n for n in range(64)})
        self.assertNotIn("unknown", {event["outcome"] for event in events})


class ModeTest(AuditCase):
    def broken(self):
        """A path where no database can be."""
        blocked = os.path.join(self.sshx.directory, "blocked")
        with open(blocked, "w", encoding="ascii"):
            pass
        return os.path.join(blocked, "audit.db")

    def test_required_refuses_before_the_network(self):
        before = self.server.connections()
        mark = os.path.join(self.sshx.directory, "mark")
        document = self.run_json(
            f"touch {mark}", options=("--audit", "required", "--audit-db", self.broken()), code=255
        )
        self.assert_fields(document, error_kind="local_io", error__code="audit_open", success=False)
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.server.connections(), before)

    def test_required_runs_when_the_store_works(self):
        self.assert_fields(self.run_json("true", options=("--audit", "required"), code=0), audit_status="written")

    def test_best_effort_goes_on_and_says_so(self):
        done = self.sshx.expect(3, "run", "--target", "target", "--audit-db", self.broken(), "--json", "--", "exit 3")
        document = self.sshx.document(done)
        self.assert_fields(document, audit_status="failed", exit_code=3, error_kind="remote_exit")
        self.assertTrue(document["warnings"])
        done = self.sshx.ok("run", "--target", "target", "--audit-db", self.broken(), "--", "echo out")
        self.assertEqual(done.out, b"out\n")
        self.assert_mentions(done.error_text, "sshx: ", "audit")

    def test_off_writes_nothing(self):
        document = self.run_json("true", options=("--audit", "off"), code=0)
        self.assert_fields(document, audit_status="disabled", warnings=[])
        self.assertFalse(os.path.exists(self.sshx.audit_path))

    def test_audit_status_is_outside_the_fingerprint(self):
        written = self.run_json("true", code=0)
        disabled = self.run_json("true", options=("--audit", "off"), code=0)
        self.assertEqual(written["execution_fingerprint"], disabled["execution_fingerprint"])

    def test_a_store_that_is_no_database(self):
        path = os.path.join(self.sshx.directory, "text.db")
        with open(path, "w", encoding="ascii") as file:
            file.write("this is not a database, and it is longer than a header of one hundred bytes " * 3)
        os.chmod(path, 0o600)
        document = self.run_json("true", options=("--audit", "required", "--audit-db", path), code=255)
        self.assertIn(document["error_kind"], ("local_io", "config"))
        self.assert_mentions(document["error"]["message"], path)
        with open(path, encoding="ascii") as file:
            self.assertTrue(file.read().startswith("this is not"), "a file that is not ours must be left alone")

    def test_a_store_of_a_later_version_is_left_alone(self):
        self.run_json("true", code=0)
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path)) as database:
            database.execute("PRAGMA user_version = 999")
            database.commit()
        document = self.run_json("true", options=("--audit", "required"), code=255)
        self.assert_fields(document, error__code="audit_version")
        self.assert_fields(self.run_json("true", code=0), audit_status="failed")

    def test_a_store_that_others_may_write_is_refused(self):
        self.run_json("true", code=0)
        os.chmod(self.sshx.audit_path, 0o666)
        document = self.run_json("true", options=("--audit", "required"), code=255)
        self.assert_fields(document, error_kind="config", error__code="unsafe_permissions")


class HostTestEvidenceTest(LabCase):
    def test_reading_operations_leave_no_evidence(self):
        self.sshx.ok("host", "add", "a", "--address", "host-a")
        self.sshx.ok("host", "list")
        self.sshx.ok("schema", "list")
        self.assertFalse(os.path.exists(self.sshx.audit_path))


if __name__ == "__main__":
    unittest.main()
