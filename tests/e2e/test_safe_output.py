"""What reaches a terminal: a command's output as it is, or visible with --safe-output; everything else never raw."""

import json
import os
import unittest

from tests.lab import LabCase, TargetCase, Terminal
from tests.lab.scripted_server import ScriptedServer

# B149: bytes that would drive or deceive a terminal, and how they are shown.
DANGEROUS = (
    (b"\x1b[2J\x1b[31m", rb"\x1b[2J\x1b[31m"),
    (b"\x1b]0;title\x07", rb"\x1b]0;title\x07"),
    (b"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", rb"\x1b]8;;http://evil\x1b\text\x1b]8;;\x1b" + b"\\"),
    (b"\x1b]52;c;ZXZpbA==\x07", rb"\x1b]52;c;ZXZpbA==\x07"),
    (b"\x1bP$q\x1b\\", rb"\x1bP$q\x1b" + b"\\"),
    (b"\x9b31m\x9d0;x\x9c", rb"\x9b31m\x9d0;x\x9c"),
    ("\u009b31m\u009d".encode(), rb"\u009b31m\u009d"),
    ("a\u202eb\u2066c\u200bd\ufeff".encode(), rb"a\u202eb\u2066c\u200bd\ufeff"),
    (b"all good\rnot so\x08\x08\x7f\x00\x0b\x0c\x0e", rb"all good\x0dnot so\x08\x08\x7f\x00\x0b\x0c\x0e"),
    (b"\xff\xc0\x80\xed\xa0\x80", rb"\xff\xc0\x80\xed\xa0\x80"),
)
HARMLESS = "plain\ttext\n\n  ü 日本 😀 \\ ' \" ~\n".encode()


def octal(content):
    """A printf format that prints these bytes."""
    return "".join(f"\\{byte:03o}" for byte in content)


class SafeOutputTest(TargetCase):
    def run_words(self, content, *options):
        command = f"printf '{octal(content)}'; printf '{octal(content)}' >&2"
        return ("run", "--target", "target", *options, "--", command)

    def test_control_bytes_become_visible_on_both_streams(self):
        sent = b"|".join(raw for raw, _ in DANGEROUS) + HARMLESS
        shown = b"|".join(visible for _, visible in DANGEROUS) + HARMLESS
        done = self.sshx.ok(*self.run_words(sent, "--safe-output"))
        self.assertEqual(done.out, shown)
        self.assertEqual(done.err, shown)

    def test_on_a_terminal_too(self):
        sent = b"|".join(raw for raw, _ in DANGEROUS)
        shown = b"|".join(visible for _, visible in DANGEROUS)
        self.assertEqual(self.on_a_terminal(*self.run_words(sent, "--safe-output")), (shown, shown))

    def test_an_unfinished_sequence_at_the_end(self):
        for sent, shown in ((b"x\x1b]8;;", rb"x\x1b]8;;"), (b"x\xe6\x97", rb"x\xe6\x97"), (b"x\x1b", rb"x\x1b")):
            with self.subTest(sent):
                done = self.sshx.ok(*self.run_words(sent, "--safe-output"))
                self.assertEqual((done.out, done.err), (shown, shown))

    # The rule: without the switch a command's output is its own affair, on a terminal as off it.
    def test_without_it_bytes_pass_untouched(self):
        sent = b"|".join(raw for raw, _ in DANGEROUS) + HARMLESS + bytes(range(256))
        done = self.sshx.ok(*self.run_words(sent))
        self.assertEqual((done.out, done.err), (sent, sent))

    def test_without_it_bytes_pass_untouched_on_a_terminal(self):
        # Without newlines, which the terminal itself turns into CR LF.
        sent = b"|".join(raw for raw, _ in DANGEROUS) + HARMLESS.replace(b"\n", b"").replace(b"\t", b"")
        self.assertEqual(self.on_a_terminal(*self.run_words(sent)), (sent, sent))

    def test_it_works_with_a_remote_terminal(self):
        words = ("run", "--target", "target", "--pty", "--safe-output", "--", "printf '\\033[1mx\\n'")
        out, _ = self.on_a_terminal(*words)
        self.assertNotIn(b"\x1b", out)
        self.assertIn(rb"\x1b[1mx", out)

    def test_in_a_document_nothing_is_rewritten(self):
        sent = b"|".join(raw for raw, _ in DANGEROUS[:7:2])
        plain = self.sshx.json(*self.run_words(sent), code=0)
        safe = self.sshx.json(*self.run_words(sent, "--safe-output"), code=0)
        self.assert_fields(safe, stdout=plain["stdout"], stdout_bytes=len(sent), stderr=plain["stderr"])
        done = self.sshx.history[-1]
        self.assertNotIn(b"\x1b", done.out)

    def test_a_request_may_have_it_beside(self):
        body = json.dumps({"targets": ["target"], "command": "printf '\\033x'"}).encode()
        self.assertEqual(self.sshx.ok("run", "--request", "-", "--safe-output", stdin=body).out, rb"\x1bx")

    def on_a_terminal(self, *words):
        terminal = Terminal(self.sshx, *words)
        self.addCleanup(terminal.close)
        done = terminal.wait()
        self.assertEqual(done.code, 0, done)
        return done.out, done.err


class ScriptedCase(LabCase):
    def scripted(self, script):
        server = ScriptedServer(self.lab.key(name="host"), script)
        self.lab.adopt(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.sshx.ok("host", "add", "scripted", "--address", server.address, "--port", server.port, "--user", "u",
                     "--identity", self.lab.key().path)  # fmt: skip

    def assert_not_raw(self, done):
        for stream in (done.out, done.err):
            for byte in b"\x1b\x07\x9b\r":
                self.assertNotIn(bytes([byte]), stream, done)
            self.assertNotIn("\u202e".encode(), stream, done)


class PacketsTest(ScriptedCase):
    def test_characters_that_packets_cut_stay_whole(self):
        text = ("日本語 ü 😀 \u202e\u009b" * 400 + "\n").encode()
        shown = text.replace("\u202e".encode(), rb"\u202e").replace("\u009b".encode(), rb"\u009b")

        def script(exchange):
            for at in range(0, len(text), 7):
                exchange.stdout(text[at : at + 7])
                exchange.stderr(text[at : at + 7])
            exchange.exit_status(0)
            exchange.close()

        self.scripted(script)
        done = self.sshx.ok("run", "--target", "scripted", "--safe-output", "--", "true")
        self.assertEqual((done.out, done.err), (shown, shown))


class MessagesTest(ScriptedCase):
    EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b\r"

    def test_the_name_of_a_remote_signal(self):
        def script(exchange):
            exchange.exit_signal(self.EVIL, text=self.EVIL)
            exchange.close()

        self.scripted(script)
        done = self.sshx.expect(255, "run", "--target", "scripted", "--", "true")
        self.assert_not_raw(done)
        self.assert_mentions(done.error_text, r"\x1b")

    def test_names_that_the_caller_was_given(self):
        for words in (
            ("run", "--target", self.EVIL, "--", "true"),
            ("run", "--address", self.EVIL, "--", "true"),
            ("run", "--target", "a", f"--{self.EVIL}", "--", "true"),
            ("run", "--address", "127.0.0.1", "--script-file", self.EVIL),
            ("run", "--address", "127.0.0.1", "--env", f"{self.EVIL}=x", "--", "true"),
            ("run", "--address", "127.0.0.1", "--shell", self.EVIL, "--script-file", "/dev/null"),
            ("host", "show", self.EVIL),
            (self.EVIL,),
        ):
            with self.subTest(words):
                self.assert_not_raw(self.sshx.expect(255, *words))

    def test_a_first_line_of_a_script(self):
        path = os.path.join(self.sshx.directory, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/{self.EVIL}\n")
        self.assert_not_raw(self.sshx.expect(255, "run", "--address", "127.0.0.1", "--script-file", path))

    def test_previews_and_tables(self):
        self.scripted(lambda exchange: (exchange.exit_status(0), exchange.close()))
        options = ("--cwd", self.EVIL, "--env", f"A={self.EVIL}")
        self.sshx.ok("run", "--target", "scripted", *options, "--", f"echo {self.EVIL}")
        for words in (
            ("run", "--target", "scripted", "--dry-run", *options, "--", f"echo {self.EVIL}"),
            ("audit", "query"),
            ("audit", "show", self.sshx.json("audit", "query", code=0)["events"][0]["execution_id"]),
        ):
            with self.subTest(words[:2]):
                self.assert_not_raw(self.sshx.ok(*words))


if __name__ == "__main__":
    unittest.main()
