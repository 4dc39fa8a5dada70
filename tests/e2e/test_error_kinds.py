"""Every kind of error that this build can produce is produced here, with its advice."""

import contextlib
import glob
import os
import re
import signal
import sqlite3
import unittest

from tests.lab import TargetCase, eventually, processes
from tests.lab.documents import documented_codes
from tests.lab.lab import CONTRACT, ROOT
from tests.lab.mcp import McpClient
from tests.lab.scripted_server import PlainListener, ScriptedServer

# Kinds of the contract whose features come with later issues have no row in its table, so they are not asked for.
_PHASES = {
    "connect": ("resolve", "connect"),
    "host_key": ("connect",),
    "auth": ("authenticate",),
    "timeout": ("execute", "collect"),
    "cancelled": ("connect", "execute", "collect"),
    "connection_lost": ("execute", "collect"),
    "remote_exit": ("complete",),
    "exit_missing": ("collect", "complete"),
    "unsupported": ("authenticate",),
    "busy": ("admission",),
    "blocked": ("admission",),
    "adapter": ("collect",),
}


# Codes that no test here can bring about, each with the reason. The unit tests of the rooms cover them.
_OUT_OF_REACH = {
    ("config", "ambiguous"): "ids are random, so two with one beginning cannot be made from outside",
    ("config", "public_key"): "needs a public key of a kind that ssh-keygen does not make",
    ("config", "not_a_pipe"): "secret get has no document; its words are tested",
    ("local_io", "too_large"): "needs a file of an absurd size",
    ("local_io", "broken_pipe"): "who would read the document has gone",
    ("local_io", "audit_write"): "needs a disk that fails in the middle",
    ("local_io", "audit_read"): "needs a disk that fails in the middle",
    ("unsupported", "algorithms"): "needs a library that knows none of our algorithms",
}


class CoverageTest(unittest.TestCase):
    def test_every_code_of_the_contract_is_expected_by_some_test(self):
        # The tables of the fault matrix are read and run by tests.
        with open(os.path.join(os.path.dirname(CONTRACT), "fault-matrix.md"), encoding="utf-8") as file:
            text = re.sub(r"\| \w+/(\w+) \|", r'"\1"', file.read())
        # The limits of the MCP adapter are reached where they can be made small.
        adapter = os.path.join(ROOT, "tests", "unit", "mcp", "*.cpp")
        for path in (*glob.glob(os.path.join(os.path.dirname(__file__), "test_*.py")), *glob.glob(adapter)):
            with open(path, encoding="utf-8") as file:
                text += re.sub(r"_OUT_OF_REACH = \{.*?\n\}", "", file.read(), flags=re.DOTALL)
        for kind, code in sorted(documented_codes(CONTRACT)):
            if kind != "internal" and (kind, code) not in _OUT_OF_REACH:
                with self.subTest(kind=kind, code=code):
                    self.assertRegex(text, rf'["/]{code}"')


class EveryKindTest(TargetCase):
    def fake(self, script=None, **options):
        server = ScriptedServer(self.lab.key(name="host"), script, **options)
        self.addCleanup(server.stop)
        self.sshx.trust(self.server.known_hosts_line(), server.known_hosts_line())
        return ("--port", server.port)

    def listener(self, **options):
        listener = PlainListener(**options)
        self.addCleanup(listener.stop)
        return ("--port", listener.port, "--connect-timeout", "2s")

    def config(self):
        return self.sshx.json("run", "--target", "nowhere", "--", "true", code=255)

    def local_io(self):
        return self.run_json("true", options=("--stdin-file", "/nonexistent"), code=255)

    def connect(self):
        return self.run_json("true", options=("--port", "1"), code=255)

    def host_key(self):
        self.sshx.trust()
        return self.run_json("true", code=255)

    def auth(self):
        return self.run_json("true", options=("--identity", self.lab.key("rsa").path), code=255)

    def timeout(self):
        return self.run_json("sleep 60", options=("--timeout", "0.3s"), code=255)

    def cancelled(self):
        mark = os.path.join(self.sshx.directory, "mark")
        running = self.sshx.start("run", "--target", "target", "--json", "--", f"touch {mark}; sleep 60")
        eventually(lambda: os.path.exists(mark), "the command runs")
        running.signal(signal.SIGTERM)
        return self.sshx.document(running.wait())

    def connection_lost(self):
        return self.run_json("kill -9 $PPID; sleep 60", code=255)

    def protocol(self):
        return self.run_json("true", options=self.fake(accept_exec=False), code=255)

    def unsupported(self):
        options = self.fake(refused_signatures=("rsa-sha2-256", "rsa-sha2-512"))
        return self.run_json("true", options=(*options, "--identity", self.lab.key("rsa").path), code=255)

    def blocked(self):
        return self.run_json("true", options=("--read-only",), code=255)

    def adapter(self):
        """A tool call whose child was killed."""
        mark = os.path.join(self.sshx.directory, "mark")
        client = McpClient(self.sshx)
        self.addCleanup(processes.stop, client.running.process)
        call = client.call("sshx_run", targets=["target"], command=f"touch {mark}; sleep 60", timeout_seconds=30)
        eventually(lambda: os.path.exists(mark), "the command runs")
        processes.kill_all(processes.descendants(client.running.pid))
        document, is_error = client.answer(call)
        self.assertTrue(is_error)
        self.assert_fields(document, error__code="no_document", executed=None, execution=None, child__signal=signal.SIGKILL)
        return document

    def secret(self):
        return self.sshx.json("secret", "list", code=255, environment={"DBUS_SESSION_BUS_ADDRESS": None, "XDG_RUNTIME_DIR": None})

    def remote_exit(self):
        return self.run_json("exit 9", code=9)

    def exit_missing(self):
        return self.run_json("true", options=self.fake(lambda exchange: exchange.close()), code=255)

    def busy(self):
        self.run_json("true", code=0)
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            return self.run_json("true", options=("--audit", "required"), code=255)

    def test_every_kind_of_the_contract_is_produced(self):
        # `internal` is a defect of sshx: that it cannot be had from outside is the point.
        kinds = {kind for kind, _ in self.lab.documents.codes} - {"internal"}
        self.assertGreaterEqual(len(kinds), 12)
        for kind in sorted(kinds):
            with self.subTest(kind):
                self.sshx = self.lab.sshx()
                self.sshx.trust(self.server.known_hosts_line())
                self.sshx.add_host("target", self.server, identity=self.lab.key())
                document = getattr(self, kind)()
                error = document["error"]
                self.assert_fields(document, error_kind=kind, success=False, error__kind=kind)
                self.assertIn(error["phase"], _PHASES.get(kind, (error["phase"],)))
                self.assertTrue(error["message"])
                self.assertNotIn("\n", error["message"])
                # Where a person can do something, the error says what (a remote status speaks for itself).
                if kind in ("config", "blocked", "adapter", "secret", "local_io", "connect", "host_key", "auth", "timeout", "exit_missing", "busy"):
                    self.assertTrue(error["hint"], error)

    # Design §3: a change whose completion is uncertain is never safe to send again.
    def test_uncertain_is_never_safe(self):
        for kind in ("timeout", "connection_lost", "exit_missing", "adapter"):
            with self.subTest(kind):
                self.sshx.trust(self.server.known_hosts_line())
                self.assertIn(getattr(self, kind)()["error"]["retry_safety"], ("verify_first", "unsafe", "unknown"))

    def test_not_started_is_safe(self):
        for kind in ("connect", "host_key", "local_io", "config", "blocked", "secret"):
            with self.subTest(kind):
                self.sshx.trust(self.server.known_hosts_line())
                self.assertEqual(getattr(self, kind)()["error"]["retry_safety"], "safe")

    def test_only_what_may_pass_by_itself_is_retryable(self):
        for kind, retryable in (("connect", True), ("busy", True), ("config", False), ("host_key", False), ("auth", False)):
            with self.subTest(kind):
                self.sshx = self.lab.sshx()
                self.sshx.trust(self.server.known_hosts_line())
                self.sshx.add_host("target", self.server, identity=self.lab.key())
                self.assertIs(getattr(self, kind)()["error"]["retryable"], retryable)

    def test_kinds_of_the_schema_are_those_of_the_design(self):
        schema = self.lab.documents.schema("sshx.result.v1")
        self.assertEqual(
            [kind for kind in schema["properties"]["error_kind"]["enum"] if kind],
            [
                "config", "blocked", "plan_mismatch", "plan_unresolved", "approval", "secret", "local_io", "connect",
                "host_key", "auth", "timeout", "cancelled", "connection_lost", "protocol", "unsupported", "busy",
                "remote_exit", "exit_missing", "remote_io", "precondition", "verification_failed", "adapter", "internal",
            ],
        )  # fmt: skip


class LocalCodesTest(TargetCase):
    """Codes that need odd files or folders."""

    def code_of(self, *options, **keywords):
        return self.run_json("true", options=options, code=255, **keywords)["error"]["code"]

    def test_stdin_file(self):
        loop = os.path.join(self.sshx.directory, "loop")
        os.symlink(loop, loop)
        for path, code in (("/nonexistent", "not_found"), ("/", "not_a_file"), (loop, "io"), ("/dev/full/x", None)):
            with self.subTest(path):
                document = self.run_json("true", options=("--stdin-file", path), code=255)
                self.assert_fields(document, error_kind="local_io", error__code=code or document["error"]["code"])

    def test_full_stdout(self):
        with open("/dev/full", "wb") as full:
            descriptor = full.fileno()
            running = self.sshx.start(
                "run", "--target", "target", "--json", "--", "true",
                prefix=("sh", "-c", f'exec "$@" >&{descriptor}', "-"), pass_fds=(descriptor,),
            )  # fmt: skip
            done = running.wait()
        self.assertEqual(done.code, 255)
        self.assertTrue(done.err.startswith(b"sshx: "), done)


if __name__ == "__main__":
    unittest.main()
