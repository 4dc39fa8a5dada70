"""Standard input of the command: empty unless given, and exact when given."""

import base64
import hashlib
import json
import os
import unittest

from tests.lab import TargetCase, eventually
from tests.lab.facts import stream
from tests.lab.processes import is_running


class DefaultStdinTest(TargetCase):
    def test_stdin_is_empty_unless_given(self):
        done = self.sshx.ok("run", "--target", "target", "--", "cat; echo end", stdin=b"not for you\n")
        self.assertEqual(done.out, b"end\n")

    # B192
    def test_a_command_that_reads_ends_at_once(self):
        self.assert_fields(self.run_json("read line", code=1), stdout="", action__stdin_bytes=0)

    # B040
    def test_a_loop_keeps_its_input(self):
        loop = 'printf "a\\nb\\nc\\n" | while read -r name; do "$@" < /dev/stdin && echo "$name"; done'
        running = self.sshx.start("run", "--target", "target", "--", "true", prefix=("sh", "-c", loop, "-"))
        self.assertEqual(running.wait().out, b"a\nb\nc\n")

    def test_it_is_not_waited_for(self):
        # The caller's stdin stays open for the whole run.
        running = self.sshx.start("run", "--target", "target", "--", "cat; echo end", stdin="pipe")
        self.assertEqual(running.wait().out, b"end\n")
        running.close_stdin()


class InheritedStdinTest(TargetCase):
    def test_bytes_arrive_exactly(self):
        content = os.urandom(3 << 20) + b"\x00\xff"
        done = self.sshx.ok("run", "--target", "target", "--stdin", "--", "cat", stdin=content)
        self.assertEqual(done.out, content)

    def test_it_flows_as_it_comes(self):
        running = self.sshx.start("run", "--target", "target", "--stdin", "--", "cat", stdin="pipe")
        for line in (b"one\n", b"two\n"):
            running.write(line)
            running.wait_for(line)
        running.close_stdin()
        self.assertEqual(running.wait().out, b"one\ntwo\n")

    # B041
    def test_end_of_file_leaves_the_channel_usable(self):
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        command = f"cat; read x < {gate}; echo $x"
        running = self.sshx.start("run", "--target", "target", "--stdin", "--", command, stdin="pipe")
        running.write(b"1 2\n")
        running.close_stdin()
        running.wait_for(b"1 2\n")
        with open(gate, "w", encoding="ascii") as file:
            file.write("done\n")
        self.assertEqual(running.wait().out, b"1 2\ndone\n")

    def test_a_command_that_ignores_its_input_ends(self):
        running = self.sshx.start("run", "--target", "target", "--stdin", "--", "echo end", stdin="pipe")
        self.assertEqual(running.wait().out, b"end\n")
        running.close_stdin()

    def test_input_that_nobody_reads_does_not_change_the_status(self):
        content = b"x" * (8 << 20)
        done = self.sshx.expect(7, "run", "--target", "target", "--stdin", "--", "exec <&-; exit 7", stdin=content)
        self.assertEqual(done.out, b"")

    def test_length_is_not_claimed_for_inherited_input(self):
        document = self.run_json("cat", options=("--stdin",), stdin=b"abc", code=0)
        self.assert_fields(document, stdout="abc", action__stdin_bytes=None)

    def test_closed_stdin_counts_as_empty(self):
        running = self.sshx.start(
            "run", "--target", "target", "--stdin", "--", "cat; echo end", prefix=("sh", "-c", 'exec "$@" <&-', "-")
        )
        self.assertEqual(running.wait().out, b"end\n")


class StdinFileTest(TargetCase):
    def path(self, content=None):
        path = os.path.join(self.sshx.directory, "input")
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def test_the_file_arrives_exactly(self):
        content = os.urandom(1 << 20)
        document = self.run_json("cat", options=("--stdin-file", self.path(content)), code=0)
        self.assertEqual(stream(document, "stdout"), content)
        self.assert_fields(document, action__stdin_bytes=len(content))

    def test_an_empty_file(self):
        document = self.run_json("cat", options=("--stdin-file", self.path(b"")), code=0)
        self.assert_fields(document, stdout="", action__stdin_bytes=0)

    def test_a_missing_file_stops_before_the_network(self):
        # Port 1 refuses: a connection attempt would give kind connect.
        document = self.run_json("cat", options=("--stdin-file", self.path(), "--port", "1"), code=255)
        self.assert_fields(document, error_kind="local_io", error__code="not_found")
        self.assert_mentions(document["error"]["message"], self.path())

    def test_a_directory_is_refused(self):
        document = self.run_json("cat", options=("--stdin-file", self.sshx.directory, "--port", "1"), code=255)
        self.assert_fields(document, error_kind="local_io", error__code="not_a_file")

    def test_more_than_the_limit_is_refused(self):
        options = ("--stdin-file", self.path(b"x" * 1001), "--max-payload-bytes", "1000", "--port", "1")
        self.assert_fields(self.run_json("cat", options=options, code=255), error__code="payload_too_large")
        options = ("--stdin-file", self.path(b"x" * 1000), "--max-payload-bytes", "1000")
        self.assert_fields(self.run_json("wc -c", options=options, code=0), stdout="1000\n")


class RequestStdinTest(TargetCase):
    def request(self, code, **properties):
        body = json.dumps({"targets": ["target"], "command": "cat", **properties}).encode("utf-8")
        return self.sshx.json("run", "--request", "-", stdin=body, code=code)

    def test_text(self):
        document = self.request(0, stdin="ä\n1 2\n")
        self.assert_fields(document, stdout="ä\n1 2\n", action__stdin_bytes=7)

    def test_base64(self):
        content = bytes(range(256))
        document = self.request(0, stdin_base64=base64.b64encode(content).decode("ascii"))
        self.assertEqual(stream(document, "stdout"), content)
        self.assert_fields(document, action__stdin_bytes=256)

    def test_bad_base64_is_refused(self):
        for text in ("a", "====", "YQ", "YQ==YQ==", "Y Q==", "_-8="):
            with self.subTest(text):
                document = self.request(255, stdin_base64=text)
                self.assert_fields(document, error_kind="config")
                self.assert_mentions(document["error"]["message"], "stdin_base64")

    def test_only_one_source(self):
        for properties in (
            {"stdin": "a", "stdin_base64": "YQ=="},
            {"stdin": "a", "stdin_file": "/etc/hostname"},
            {"stdin": "a", "stdin_inherit": True},
            {"stdin_base64": "YQ==", "stdin_file": "/etc/hostname"},
        ):
            with self.subTest(properties):
                self.assert_fields(self.request(255, **properties), error_kind="config")

    def test_stdin_that_gave_the_request_is_not_the_commands_too(self):
        self.assert_fields(self.request(255, stdin_inherit=True), error__code="request_conflict")

    # Design §1.4: no digest of stdin either, for it may be short and secret.
    def test_neither_stdin_nor_its_digest_is_kept(self):
        secret = "hunter2-EXAMPLE"
        body = json.dumps({"targets": ["target"], "command": "wc -c", "stdin": secret}).encode("utf-8")
        done = self.sshx.expect(0, "run", "--request", "-", "--json", stdin=body)
        digest = hashlib.sha256(secret.encode("ascii"))
        kept = done.out + done.err
        for suffix in ("", "-wal"):
            if os.path.exists(self.sshx.audit_path + suffix):
                with open(self.sshx.audit_path + suffix, "rb") as file:
                    kept += file.read()
        for trace in (secret.encode("ascii"), digest.hexdigest().encode("ascii"), base64.b64encode(digest.digest())):
            self.assertNotIn(trace, kept)


class InterruptedInputTest(TargetCase):
    # B192
    def test_a_deadline_ends_a_run_that_waits_for_input(self):
        mark = os.path.join(self.sshx.directory, "pid")
        running = self.sshx.start(
            "run", "--target", "target", "--stdin", "--timeout", "1s", "--", f"echo $$ > {mark}; exec cat", stdin="pipe"
        )
        self.assertEqual(running.wait().code, 255)
        running.close_stdin()
        with open(mark, encoding="ascii") as file:
            remote = int(file.read())
        eventually(lambda: not is_running(remote), "the remote cat is gone")


if __name__ == "__main__":
    unittest.main()
