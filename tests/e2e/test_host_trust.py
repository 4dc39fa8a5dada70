"""What reaches the hosts of the inventory: `sshx host trust` and `sshx host test`."""

import contextlib
import os
import pty
import stat
import subprocess
import unittest

from tests.e2e.test_hosts import HostsCase
from tests.lab import TargetCase
from tests.lab.scripted_server import PlainListener


class TrustTest(HostsCase):
    kinds = ("ed25519", "ecdsa256", "rsa")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.lab.server(host_key_kinds=cls.kinds, log_level="DEBUG1")

    def setUp(self):
        super().setUp()
        self.sshx.add_host("target", self.server, identity=self.lab.key())

    def fingerprint(self, kind="ed25519"):
        return self.server.host_keys[kind].fingerprint

    def test_fingerprint_records_that_key_and_no_other(self):
        for kind in self.kinds:
            with self.subTest(kind):
                self.sshx.trust()
                document = self.host("trust", "target", "--fingerprint", self.fingerprint(kind))
                keys = document["hosts"][0]["keys"]
                self.assertEqual([key["fingerprint"] for key in keys if key["recorded"]], [self.fingerprint(kind)])
                (line,) = self.sshx.known_hosts().splitlines()
                self.assertTrue(line.startswith(self.server.known_hosts_line(kind)), line)
                self.sshx.ok("run", "--target", "target", "--", "true")

    def test_all_offered_keys_are_shown(self):
        document = self.host("trust", "target", "--fingerprint", self.fingerprint())
        self.assertEqual(
            {key["type"]: key["fingerprint"] for key in document["hosts"][0]["keys"]},
            {self.server.host_keys[kind].type: self.fingerprint(kind) for kind in self.kinds},
        )

    def test_nothing_is_sent_to_log_in(self):
        before = len(self.server.log())
        self.host("trust", "target", "--fingerprint", self.fingerprint())
        self.assertNotIn("userauth-request", self.server.log()[before:])

    def test_another_fingerprint_records_nothing(self):
        document = self.host("trust", "target", "--fingerprint", "SHA256:" + "A" * 43, code=255)
        self.assert_fields(document, error_kind="host_key", error__code="fingerprint_mismatch")
        self.assert_mentions(document["error"]["message"] + str(document["error"]["hint"]), self.fingerprint())
        self.assertFalse(os.path.exists(self.sshx.known_hosts_path) and self.sshx.known_hosts())

    def test_without_terminal_and_fingerprint_it_shows_and_refuses(self):
        document = self.host("trust", "target", code=255)
        self.assert_fields(document, error_kind="config", error__code="no_terminal")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "--fingerprint")
        self.assertFalse(os.path.exists(self.sshx.known_hosts_path) and self.sshx.known_hosts())
        done = self.sshx.expect(255, "host", "trust", "target")
        self.assertIn(self.fingerprint(), done.text + done.error_text)

    def at_a_terminal(self, answer, *options, stdout=None):
        """`host trust target` at a terminal where `answer` is typed; `stdout` may be a file instead."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [self.sshx.binary, "host", "trust", "target", *options],
            stdin=slave, stdout=stdout or slave, stderr=slave, env=self.sshx.environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # A terminal whose other end is closed gives EIO.
            while chunk := os.read(master, 4096):
                shown += chunk
                if answer and b"yes" in shown.lower():
                    os.write(master, answer)
                    answer = b""
        os.close(master)
        return process.wait(), shown.decode("utf-8")

    def test_at_a_terminal_it_asks(self):
        code, shown = self.at_a_terminal(b"yes\n")
        self.assertEqual(code, 0, shown)
        for kind in self.kinds:
            self.assertIn(self.fingerprint(kind), shown)
        self.assertEqual(len(self.sshx.known_hosts().splitlines()), len(self.kinds))
        self.sshx.ok("run", "--target", "target", "--", "true")

    def test_anything_but_yes_records_nothing(self):
        for answer in (b"no\n", b"\n", b"y\n", b"\x04"):
            with self.subTest(answer):
                code, shown = self.at_a_terminal(answer)
                self.assertNotEqual(code, 0, shown)
                self.assertFalse(os.path.exists(self.sshx.known_hosts_path) and self.sshx.known_hosts())

    def test_a_no_is_a_document_too(self):
        path = os.path.join(self.sshx.directory, "document")
        with open(path, "wb") as file:
            code, _ = self.at_a_terminal(b"no\n", "--json", stdout=file)
        self.assertEqual(code, 255)
        with open(path, "rb") as file:
            document = self.lab.documents.parse_one(file.read())
        self.assert_fields(document, error__kind="cancelled", error__code="declined")

    def test_an_old_key_of_the_type_is_not_replaced(self):
        old = f"{self.server.known_hosts_name} {self.lab.key(name='old').public_line}"
        self.sshx.trust(old)
        document = self.host("trust", "target", "--fingerprint", self.fingerprint(), code=255)
        self.assert_fields(document, error_kind="host_key", error__code="changed")
        self.assertEqual(self.sshx.known_hosts(), old + "\n")

    def test_trust_twice_adds_one_line(self):
        for _ in range(2):
            self.host("trust", "target", "--fingerprint", self.fingerprint())
        self.assertEqual(len(self.sshx.known_hosts().splitlines()), 1)

    # Our own line is appended, nothing is rewritten.
    def test_other_lines_stay_byte_for_byte(self):
        before = b"# mine\r\nhost-b ssh-ed25519 AAAA odd\t line\n\n|1|x|y z\nno line feed at the end"
        with open(self.sshx.known_hosts_path, "wb") as file:
            file.write(before)
        os.chmod(self.sshx.known_hosts_path, 0o644)
        self.host("trust", "target", "--fingerprint", self.fingerprint())
        with open(self.sshx.known_hosts_path, "rb") as file:
            after = file.read()
        self.assertTrue(after.startswith(before + b"\n"), after)
        self.assertEqual(after[len(before) + 1 :].count(b"\n"), 1)
        self.assertEqual(stat.S_IMODE(os.stat(self.sshx.known_hosts_path).st_mode), 0o644)
        self.sshx.ok("run", "--target", "target", "--", "true")

    # B201
    def test_a_symbolic_link_stays_one(self):
        real = os.path.join(self.sshx.directory, "real")
        with open(real, "w", encoding="ascii"):
            pass
        os.symlink(real, self.sshx.known_hosts_path)
        self.host("trust", "target", "--fingerprint", self.fingerprint())
        self.assertTrue(os.path.islink(self.sshx.known_hosts_path))
        self.assertEqual(os.path.getsize(real), len(self.sshx.known_hosts()))
        self.assertGreater(os.path.getsize(real), 0)

    def test_the_folder_is_made_when_it_is_missing(self):
        os.rmdir(os.path.dirname(self.sshx.known_hosts_path))
        self.host("trust", "target", "--fingerprint", self.fingerprint())
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.sshx.known_hosts_path)).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(self.sshx.known_hosts_path).st_mode) & 0o022, 0)

    # B201
    def test_twenty_at_once_leave_whole_lines(self):
        for number in range(20):
            self.sshx.add_host(f"host-{number}", self.server)
        self.sshx.ok("host", "update", "host-0", "--address", "localhost")
        runs = [
            self.sshx.start(
                "host", "trust", f"host-{number}", "--fingerprint", self.fingerprint(), "--connect-timeout", "60s"
            )
            for number in range(20)
        ]
        for run in runs:
            self.assertEqual(run.wait().code, 0)
        for line in self.sshx.known_hosts().splitlines():
            self.assertEqual(len(line.split()[:3]), 3, line)
            self.assertEqual(line.split()[1:3], self.server.host_keys["ed25519"].public_line.split())

    def test_only_the_types_asked_for(self):
        document = self.host("trust", "target", "--key-type", "ssh-rsa", "--fingerprint", self.fingerprint("rsa"))
        self.assertEqual([key["type"] for key in document["hosts"][0]["keys"]], ["ssh-rsa"])

    def test_another_known_hosts_file(self):
        other = os.path.join(self.sshx.directory, "other")
        self.host("trust", "target", "--known-hosts", other, "--fingerprint", self.fingerprint())
        self.assertTrue(os.path.getsize(other))
        self.assertFalse(os.path.exists(self.sshx.known_hosts_path))

    def test_show_says_what_is_stored(self):
        self.sshx.trust(self.server.known_hosts_line("rsa"))
        (key,) = self.host("show", "target")["hosts"][0]["keys"]
        self.assert_fields(key, type="ssh-rsa", fingerprint=self.fingerprint("rsa"))

    def test_a_bad_fingerprint_is_a_usage_error(self):
        for text in ("", "MD5:00:11", "SHA256:short", "AAAA", "SHA256:" + "A" * 44):
            with self.subTest(text):
                document = self.host("trust", "target", f"--fingerprint={text}", code=255)
                self.assert_fields(document, schema_version="sshx.error.v1", error_kind="config")

    def test_a_server_that_is_not_there(self):
        self.sshx.ok("host", "update", "target", "--port", "1")
        document = self.host("trust", "target", "--fingerprint", self.fingerprint(), code=255)
        self.assert_fields(document, error_kind="connect", error__code="refused")


class TestTest(TargetCase):
    def test_success(self):
        document = self.sshx.json("host", "test", "target", code=0, version="sshx.hosts.v1")
        self.assert_fields(document, operation="host.test", success=True, count=1)
        self.assert_fields(
            document["hosts"][0]["test"],
            success=True,
            error=None,
            auth_method="publickey",
            host_key_fingerprint=self.server.host_keys["ed25519"].fingerprint,
        )

    def test_all_names_each_host_once_and_tells_what_failed(self):
        listener = PlainListener()
        self.addCleanup(listener.stop)
        key = self.lab.key().path
        self.sshx.ok("host", "add", "dead", "--address", "127.0.0.1", "--port", "1", "--identity", key)
        self.sshx.ok("host", "add", "mute", "--address", "127.0.0.1", "--port", listener.port, "--identity", key)
        self.sshx.ok("host", "add", "zz-keyless", "--address", self.server.endpoint, "--user", "alice")
        document = self.sshx.json("host", "test", "--all", "--connect-timeout", "2s", code=1)
        self.assertEqual([host["name"] for host in document["hosts"]], ["dead", "mute", "target", "zz-keyless"])
        kinds = {host["name"]: host["test"]["error_kind"] for host in document["hosts"]}
        self.assertEqual(kinds, {"dead": "connect", "mute": "connect", "target": None, "zz-keyless": "auth"})
        self.assert_fields(document, success=False, count=4)

    def test_text_is_one_line_a_host(self):
        self.sshx.ok("host", "add", "dead", "--address", "127.0.0.1", "--port", "1", "--identity", self.lab.key().path)
        done = self.sshx.expect(1, "host", "test", "--all")
        lines = [line for line in done.text.splitlines() if line.startswith(("dead", "target"))]
        self.assertEqual(len(lines), 2, done)

    def test_unknown_host_key(self):
        self.sshx.trust()
        document = self.sshx.json("host", "test", "target", code=1)
        self.assert_fields(document["hosts"][0]["test"], error_kind="host_key", error__code="unknown")
        self.assertEqual(self.sshx.known_hosts(), "", "a test trusts nothing")

    def test_no_channel(self):
        server = self.lab.server(config=("MaxSessions 0",))
        self.sshx.trust(server.known_hosts_line())
        self.sshx.ok("host", "update", "target", "--port", server.port)
        document = self.sshx.json("host", "test", "target", code=1)
        self.assert_fields(document["hosts"][0]["test"], error__kind="protocol", error__code="channel")

    def test_needs_a_name_or_all(self):
        for words in ((), ("target", "--all")):
            with self.subTest(words):
                document = self.sshx.json("host", "test", *words, code=255, version="sshx.error.v1")
                self.assert_fields(document, error_kind="config")


if __name__ == "__main__":
    unittest.main()
