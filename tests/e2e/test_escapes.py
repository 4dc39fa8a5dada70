"""What hosts and files say is text: nothing in it commands a person's terminal, or can be taken for our words (B149)."""

import json
import os
import re
import unittest

from tests.lab import TargetCase
from tests.lab.scripted_case import ScriptedCase
from tests.lab.scripted_server import (
    CHANNEL_OPEN_FAILURE, DISCONNECT, USERAUTH_BANNER, USERAUTH_FAILURE, PlainListener, encode,
)  # fmt: skip

# A screen cleared, a title, a hyperlink and the clipboard set, CSI as one C1 character, text turned round, hidden and
# deleted, a line that looks like ours, and a sequence that has no end.
EVIL = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;ZXZpbA==\x07"
    "\x9b31m\u202etxt.exe\u2066\u200b\x7f\b\r\nsshx: forged\n\x1bP unfinished"
)
_FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class EscapeCase(ScriptedCase):
    def assert_tame(self, done, *shown):
        """No character that a terminal obeys in what people read, no forged line, and the harmless words are there."""
        for text in (done.text, done.error_text):
            self.assertIsNone(_FORBIDDEN.search(text), repr(text))
            self.assertNotIn("\nsshx: forged", "\n" + text)
        self.assert_mentions(done.text + done.error_text, *shown)

    def assert_tame_json(self, done):
        """A document has them only as escapes of JSON, one line long."""
        for byte in (b"\x1b", b"\x07", b"\x08", b"\r"):
            self.assertNotIn(byte, done.out)
        self.assertEqual(done.out.count(b"\n"), 1)

    def tame_run(self, *shown, code=255):
        words = ("run", "--target", "fake")
        self.assert_tame(self.sshx.expect(code, *words, "--", "work"), *shown)
        done = self.sshx.expect(code, *words, "--json", "--", "work")
        self.assert_tame_json(done)
        self.assert_tame_stderr(done)
        self.assert_tame(self.sshx.run("audit", "query"))
        return self.sshx.document(done)

    def assert_tame_stderr(self, done):
        self.assertIsNone(_FORBIDDEN.search(done.error_text), repr(done.error_text))


class ServerWordsTest(EscapeCase):
    def test_a_greeting_that_is_not_ssh(self):
        for greeting in (f"220 {EVIL}\r\n", f"SSH-1.5-{EVIL}\r\n", f"SSH-2.0-{EVIL}"):
            with self.subTest(greeting[:10]):
                listener = PlainListener(greeting.encode(), close=True)
                self.addCleanup(listener.stop)
                done = self.sshx.expect(
                    255, "run", "--address", f"me@127.0.0.1:{listener.port}", "--identity", self.lab.key().path, "--",
                    "true",
                )  # fmt: skip
                self.assert_tame(done, "sshx: ")
                self.sshx.add_host("fake", listener_as_server(listener), identity=self.lab.key())
                self.assert_tame(self.sshx.run("host", "test", "fake"), "fake")
                self.assert_tame(self.sshx.run("host", "trust", "fake", "--fingerprint", "SHA256:" + "A" * 43))
                self.sshx.ok("host", "remove", "fake")

    def test_lines_before_the_banner(self):
        def chatter(moment):
            moment.write(EVIL.replace("\r\n", " ").replace("\n", " ").encode() + b"\r\n")
            moment.answer()

        self.scripted(faults={"banner": chatter}, script=_done)
        self.assert_tame(self.sshx.ok("run", "--target", "fake", "--", "work"))

    def test_words_of_a_disconnect(self):
        for phase in ("key exchange", "authentication", "channel open", "exec request", "exit"):
            with self.subTest(phase):
                self.scripted(
                    _done, faults={phase: lambda moment: (moment.send(DISCONNECT, 11, EVIL, EVIL), moment.half_close())}
                )
                self.tame_run("sshx: ")
                self.sshx.ok("host", "remove", "fake")

    def test_a_banner_before_the_login(self):
        def banner(moment):
            moment.send(USERAUTH_BANNER, EVIL, "")
            moment.answer()

        self.scripted(_done, faults={"authentication": banner})
        self.tame_run(code=0)

    def test_names_of_authentication_methods(self):
        def refuse(moment):
            moment.send(USERAUTH_FAILURE, f"password,{EVIL.replace(',', '')}", False)
            moment.forget()

        self.scripted(faults={"authentication": refuse})
        document = self.tame_run("sshx: ")
        self.assert_fields(document, error_kind="auth")

    def test_names_of_algorithms(self):
        def negotiate(moment):
            name = EVIL.replace(",", "")
            moment.send_raw(moment.message[:17] + encode(0, *((name,) * 8), "", "", False, 0)[1:])

        self.scripted(faults={"negotiation": negotiate})
        self.tame_run("sshx: ")

    def test_words_of_a_refused_channel(self):
        self.scripted(faults={"channel open": lambda moment: moment.send(CHANNEL_OPEN_FAILURE, 0, 1, EVIL, EVIL)})
        self.tame_run("sshx: ")

    def test_name_and_words_of_a_signal(self):
        for name in (EVIL, f"KILL{EVIL}"):
            self.scripted(lambda exchange, name=name: (exchange.exit_signal(name, text=EVIL), exchange.close()))
            self.tame_run("signal")
            self.sshx.ok("host", "remove", "fake")

    def test_debug_messages_of_a_server(self):
        def debug(moment):
            moment.send(4, True, EVIL, "")
            moment.answer()

        self.scripted(_done, faults={"channel open": debug})
        self.tame_run(code=0)


class FileWordsTest(EscapeCase, TargetCase):
    def assert_tame_everywhere(self, *words, code=None, shown=()):
        done = self.sshx.run(*words)
        self.assert_tame(done, *shown)
        if code is not None:
            self.assertEqual(done.code, code, done)

    def test_lines_of_known_hosts(self):
        self.sshx.trust(f"{EVIL} ssh-ed25519 AAAA {EVIL}", f"host {EVIL} AAAA", self.server.known_hosts_line() + EVIL)
        self.assert_tame_everywhere("run", "--target", "target", "--", "true", shown=("known_hosts",))
        self.assert_tame_everywhere("host", "show", "target")
        self.assert_tame_everywhere("host", "test", "target")
        self.assert_tame_everywhere("run", "--target", "target", "--dry-run", "--", "true")

    def test_a_hosts_file(self):
        host = {"address": "10.0.0.1"}
        for hosts in (
            {EVIL: host},
            {"a": {**host, "address": EVIL}},
            {"a": {**host, "user": EVIL}},
            {"a": {**host, "identity": EVIL}},
            {"a": {**host, "groups": [EVIL]}},
            {"a": {**host, "tags": {"a": EVIL}}},
            {"a": {**host, "tags": {EVIL: "a"}}},
            {"a": {**host, "description": EVIL}},
            {"a": {**host, EVIL: 1}},
            {"a": EVIL},
        ):
            with self.subTest(json.dumps(hosts)[:60]):
                self.write_hosts(json.dumps({"schema_version": "sshx.hosts_file.v1", "hosts": hosts}))
                for words in (("host", "list"), ("host", "show", "a"), ("host", "show", "b"),
                              ("host", "test", "a", "--connect-timeout", "0.1s"),
                              ("run", "--target", "a", "--dry-run", "--", "true"),
                              ("run", "--target", "b", "--", "true")):  # fmt: skip
                    self.assert_tame_everywhere(*words)

    def test_a_hosts_file_that_is_no_json(self):
        for text in (EVIL, '{"a": ' + EVIL, json.dumps({"schema_version": EVIL, "hosts": {}}), f'{{"{"x" * 90}{EVIL}'):
            self.write_hosts(text)
            self.assert_tame_everywhere("host", "list", code=255, shown=(self.sshx.hosts_path,))

    def write_hosts(self, text):
        with open(self.sshx.hosts_path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_names_of_files(self):
        name = EVIL.replace("/", "|")
        folder = os.path.join(self.sshx.directory, name)
        run = ("run", "--target", "target")
        for words in (
            (*run, "--identity", folder, "--", "true"),
            (*run, "--known-hosts", folder, "--", "true"),
            (*run, "--stdin-file", folder, "--", "cat"),
            (*run, "--audit-db", folder + "/audit.db", "--audit", "required", "--", "true"),
            ("audit", "query", "--audit-db", folder),
            ("host", "add", name, "--address", "10.0.0.1"),
            ("host", "add", "a", "--address", "10.0.0.1", "--description", EVIL),
            ("host", "add", "b", "--address", "10.0.0.1", "--tag", f"a={name}"),
            ("host", "list"),
            ("host", "show", name),
            ("schema", "show", name),
            ("audit", "show", name),
        ):
            with self.subTest(words[:4]):
                self.assert_tame_everywhere(*words)

    def test_a_home_with_such_a_name(self):
        home = os.path.join(self.sshx.directory, EVIL.replace("/", "|"))
        for words in (("host", "list"), ("host", "add", "a", "--address", "10.0.0.1"), ("audit", "query")):
            self.assert_tame(self.sshx.run(*words, environment={"SSHX_HOME": home}))

    def test_a_key_file(self):
        path = os.path.join(self.lab.new_directory("k"), "key")
        for content in (EVIL, f"-----BEGIN {EVIL}-----\nAAAA\n-----END {EVIL}-----\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            with open(path + ".pub", "w", encoding="utf-8") as file:
                file.write(f"ssh-ed25519 {EVIL} {EVIL}\n")
            os.chmod(path, 0o600)
            self.assert_tame_everywhere("run", "--target", "target", "--identity", path, "--", "true", code=255)
            self.assert_tame_everywhere("run", "--target", "target", "--identity", path, "--dry-run", "--", "true")

    def test_the_plan_and_the_evidence_of_a_command(self):
        command = f"true {EVIL}".replace("\n", " ").replace("`", "")
        self.sshx.run("run", "--target", "target", "--request-id", "r", "--", f": '{command}'")
        self.assert_tame_everywhere("run", "--target", "target", "--dry-run", "--", f": '{command}'", code=0)
        self.assert_tame_everywhere("audit", "query", code=0, shown=("true",))
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        self.assert_tame_everywhere("audit", "show", event["execution_id"], code=0, shown=("true",))


class listener_as_server:  # pylint: disable=invalid-name
    """What Sshx.add_host asks of a server."""

    user = "me"

    def __init__(self, listener):
        self.address, self.port = listener.address, listener.port


def _done(exchange):
    exchange.exit_status(0)
    exchange.close()


if __name__ == "__main__":
    unittest.main()
