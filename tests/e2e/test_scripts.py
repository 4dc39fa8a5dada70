"""Scripts: their bytes, interpreter and own stdin, how they end, and what documents and evidence say of them."""

import hashlib
import json
import os
import random
import socket
import stat
import subprocess
import threading
import unittest

from tests.lab import LabCase, TargetCase, eventually, facts
from tests.lab.scripted_server import ScriptedServer

SHELLS = ("sh", "bash", "dash", "zsh", "ksh")

# Stands for an interpreter and tells what it was given: the digest of its last argument's content, then its arguments.
_WITNESS = """#!/bin/sh
for last; do :; done
sha256sum < "$last" | cut -c 1-64
printf '%s\\n' "$@"
"""


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def random_bytes(count, seed):
    return random.Random(seed).randbytes(count)


class ScriptCase(TargetCase):
    def file(self, content, name="script"):
        path = os.path.join(self.sshx.directory, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def run_script(self, content, *options, **keywords):
        return self.sshx.json("run", "--target", "target", "--script-file", self.file(content), *options, **keywords)

    def by_request(self, request, **keywords):
        body = json.dumps({"targets": ["target"], **request}).encode("utf-8")
        return self.sshx.json("run", "--request", "-", stdin=body, **keywords)

    def witness(self, name="bash"):
        """The path of a program named like a shell that only tells what it was given."""
        path = os.path.join(self.lab.new_directory("w"), name)
        with open(path, "w", encoding="ascii") as file:
            file.write(_WITNESS)
        os.chmod(path, 0o755)
        return path


class BytesTest(ScriptCase):
    def contents(self):
        first = f"#!{self.witness()}\n".encode()
        yield "every byte, CRLF, no newline at the end", first + bytes(range(256)) * 3 + b"\r\nend\r"
        text = "x='ü \"日本\" $HOME `id` \\\\ \\n !! %s'\ncat <<'EOF'\n  $a 'b'\n\tEOF\nEOF\n"
        yield "text", first + text.encode()
        yield "a first line without an end", first.rstrip(b"\n")
        yield "broken UTF-8 and NUL", first + b"\xff\xfe\x00\xed\xa0\x80\0\0\n\n\n"
        yield "1 MiB of anything", first + random_bytes(1 << 20, seed=1)

    def assert_arrived(self, document, content):
        self.assert_fields(
            document,
            success=True,
            action__kind="script",
            action__payload_sha256=f"sha256:{sha256(content)}",
            action__payload_bytes=len(content),
        )
        self.assertEqual(document["stdout"].splitlines()[0], sha256(content))

    def test_a_file_arrives_byte_for_byte(self):
        for what, content in self.contents():
            with self.subTest(what):
                self.assert_arrived(self.run_script(content, code=0), content)

    def test_stdin_arrives_byte_for_byte(self):
        for what, content in list(self.contents())[::4]:
            with self.subTest(what):
                document = self.sshx.json("run", "--target", "target", "--script-stdin", stdin=content, code=0)
                self.assert_arrived(document, content)

    def test_a_property_arrives_byte_for_byte(self):
        text = f"#!{self.witness()}\necho 'it''s \"ü\" 😀'\r\n\tcat <<E\n\u202e\x1b[0m\\\nE\nno end"
        self.assert_arrived(self.by_request({"script": text}, code=0), text.encode("utf-8"))

    def test_nul_in_a_property_arrives_too(self):
        text = f"#!{self.witness()}\na\0b\n"
        self.assert_arrived(self.by_request({"script": text}, code=0), text.encode("utf-8"))

    def test_line_ends_are_not_mended(self):
        document = self.run_script(b"printf '<%s>' a\r\nprintf '<%s>' b", code=0)
        self.assertEqual(document["stdout"], "<a\r><b>")

    def test_each_shell_runs_what_it_was_given(self):
        script = (
            "say() {\n  printf '%s\\n' \"$1\"\n}\n"
            "say 'it is \"ü\" \\ $HOME `x` !'\n"
            "cat <<'EOF'\n$not \\expanded\nEOF\n"
            "for i in 1 2; do\n  say $i\ndone\n"
            "say last"
        )
        for shell in SHELLS:
            with self.subTest(shell):
                document = self.run_script(script, "--shell", shell, code=0)
                self.assertEqual(
                    document["stdout"], "it is \"ü\" \\ $HOME `x` !\n$not \\expanded\n1\n2\nlast\n", document["stderr"]
                )

    def test_text_mode_streams_a_script_like_a_command(self):
        path = self.file("echo out; echo err >&2; exit 4\n")
        done = self.sshx.expect(4, "run", "--target", "target", "--script-file", path)
        self.assertEqual((done.out, done.err), (b"out\n", b"err\n"))


class OwnInputTest(ScriptCase):
    # B040: what a script starts must not read the rest of the script away.
    def test_what_it_runs_cannot_eat_it(self):
        script = (
            "cat\nsh -c 'cat; read x'\nread line; echo \"[$line] $?\"\ncat | cat\n"
            "test -t 0 || echo no terminal\necho end\n"
        )
        for shell in SHELLS:
            with self.subTest(shell):
                document = self.run_script(script, "--shell", shell, code=0)
                self.assertEqual(document["stdout"].splitlines()[-2:], ["no terminal", "end"], document)
                self.assertTrue(document["stdout"].startswith("[] "), document["stdout"])

    def test_nothing_of_the_callers_stdin_is_read(self):
        path = self.file("cat; echo end\n")
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb") as sink:
            sink.write(b"mine\n")
            sink.flush()
            self.assertEqual(
                self.sshx.ok("run", "--target", "target", "--script-file", path, stdin=source).out, b"end\n"
            )
            self.assertEqual(source.read1(5), b"mine\n")


class SocketInputTest(LabCase):
    """Some servers give a command a socket as stdin, which nothing can open again by name."""

    def command_of(self, script, *options):
        """The exec request that a run of `script` sends."""
        server = ScriptedServer(self.lab.key(name="host"), lambda exchange: (exchange.exit_status(0), exchange.close()))
        self.lab.adopt(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.sshx.ok("host", "add", "scripted", "--address", server.address, "--port", server.port, "--user", "u",
                     "--identity", self.lab.key().path)  # fmt: skip
        body = json.dumps({"targets": ["scripted"], "script": script}).encode()
        self.sshx.json("run", "--request", "-", *options, stdin=body, code=0)
        (command,) = server.commands
        return command

    def run_on_a_socket(self, command, script):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen(["/bin/sh", "-c", command], stdin=theirs, stdout=subprocess.PIPE)
            feeder = threading.Thread(target=lambda: (ours.sendall(script), ours.shutdown(socket.SHUT_WR)))
            feeder.start()
            out, _ = process.communicate(timeout=60)
            feeder.join()
            return process.returncode, out

    def test_a_script_runs_there_too(self):
        script = "cat; echo $((40 + 2))\nread x; echo \"[$x]\"\n" + "# filler\n" * 20000 + "exit 7\n"
        command = self.command_of(script)
        self.assertEqual(self.run_on_a_socket(command, script.encode()), (7, b"42\n[]\n"))


class EndTest(ScriptCase):
    def test_the_status_is_the_scripts(self):
        for shell in SHELLS:
            with self.subTest(shell):
                self.assert_fields(
                    self.run_script("echo before\nexit 42\necho after\n", "--shell", shell, code=42),
                    exit_code=42, stdout="before\n", error__kind="remote_exit", error__code="status",
                )  # fmt: skip

    # B003
    def test_death_by_a_signal_is_a_signal(self):
        for shell, name, code in (("sh", "KILL", 137), ("bash", "TERM", 143), ("zsh", "TERM", 143), ("ksh", "KILL", 137)):
            with self.subTest(shell):
                document = self.run_script(f"kill -{name} $$\necho after\n", "--shell", shell, code=code)
                self.assert_fields(document, signal=name, exit_code=-1, error__code="signal", stdout="")

    def test_a_syntax_error_is_the_shells_own(self):
        document = self.run_script("echo before\nif then\n", "--shell", "dash", code=2)
        self.assert_fields(document, success=False, error_kind="remote_exit", stdout="before\n")
        self.assert_mentions(document["stderr"], "syntax error")

    def test_a_script_may_end_before_it_was_read(self):
        for status in (0, 3):
            with self.subTest(status):
                content = f"exit {status}\n".encode() + random_bytes(4 << 20, seed=2)
                document = self.run_script(content, "--shell", "bash", code=status)
                self.assert_fields(document, completion="completed", exit_code=status, stderr="")

    # B020
    def test_a_script_that_runs_out_of_time_is_ended(self):
        document = self.run_script("echo $$; sleep 1000 & sleep 1000\n", "--timeout", "2s", code=255)
        self.assert_fields(document, error_kind="timeout", completion="partial", executed=True)
        self.assert_fields(document, remote_state="terminated")
        pid = document["stdout"].strip()
        self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)

    def test_nothing_is_left_on_the_host(self):
        folder = self.lab.new_directory("t")
        before = sorted(os.listdir(self.server.home))
        script = 'ls -A "$TMPDIR"; cat <<E\nsome $HOME text\nE\necho "$0"\n'
        document = self.run_script(script, "--env", f"TMPDIR={folder}", "--cwd", folder, code=0)
        self.assertEqual(document["stdout"].splitlines()[0], f"some {self.server.home} text")
        self.assertEqual(os.listdir(folder), [])
        self.assertEqual(sorted(os.listdir(self.server.home)), before)
        eventually(lambda: not self.server.session_pids(), "the connection's processes end")


class InterpreterTest(ScriptCase):
    def assert_runs_in(self, document, shell, runner):
        self.assert_fields(document, action__script_runner=runner, action__command=None, command=None)
        self.assertEqual(os.path.basename(document["stdout"].splitlines()[0]), shell)

    def test_the_first_line_names_it(self):
        for first, shell, runner, flags in (
            ("", os.path.basename(os.path.realpath("/bin/sh")), "sh", ""),
            ("#!/bin/bash", "bash", "/bin/bash", ""),
            ("#!/bin/bash -e", "bash", "/bin/bash -e", "e"),
            ("#! /bin/bash -eu\r", "bash", "/bin/bash -eu", "eu"),
            ("#!/usr/bin/env bash", "bash", "bash", ""),
            ("#!/usr/bin/env -S bash -e -u", "bash", "bash -e -u", "eu"),
            ("#!/usr/bin/zsh -f", "zsh", "/usr/bin/zsh -f", "f"),
        ):
            with self.subTest(first):
                # Without a newline behind each command a carriage return would be part of a word.
                document = self.run_script(f"{first}\nreadlink /proc/$$/exe; echo \"$-\"\n", code=0)
                self.assert_runs_in(document, shell, runner)
                for flag in flags:
                    self.assertIn(flag, document["stdout"].splitlines()[1])

    def test_the_interpreter_gets_its_options_and_nothing_else(self):
        path = self.witness()
        document = self.run_script(f"#!{path} -e -o pipefail\n", code=255)
        self.assert_fields(document, error_kind="config", error__code="interpreter")
        document = self.run_script(f"#!{path} -e --norc\n", code=0)
        self.assertEqual(document["stdout"].splitlines()[1:3], ["-e", "--norc"])
        self.assertEqual(len(document["stdout"].splitlines()), 4, "the digest, two options and the script's place")

    def test_an_option_of_the_first_line_works(self):
        self.assert_fields(self.run_script("#!/bin/bash -e\nfalse\necho not reached\n", code=1), stdout="")

    def test_the_callers_choice_is_before_the_first_line(self):
        for shell in SHELLS:
            with self.subTest(shell):
                document = self.run_script("#!/usr/bin/python3\nreadlink /proc/$$/exe\n", "--shell", shell, code=0)
                expected = os.path.basename(os.path.realpath(f"/bin/{shell}"))
                self.assert_runs_in(document, expected, shell)

    def test_one_that_is_not_installed_is_a_remote_failure(self):
        for content, options in (
            ("#!/no/such/bash\necho ran\n", ()),
            ("echo ran\n", ("--shell", "ash", "--env", "PATH=/no/such")),
            ("#!/usr/bin/env zsh\necho ran\n", ("--env", "PATH=/no/such")),
        ):
            with self.subTest(content):
                document = self.run_script(content, *options, code=127)
                self.assert_fields(document, executed=True, exit_code=127, error_kind="remote_exit", stdout="")
                self.assert_mentions(document["stderr"], "not found")

    def test_any_other_is_refused_offline(self):
        before = self.server.connections()
        for first in ("/usr/bin/python3", "/usr/bin/env python3", "/usr/bin/perl -w", "/opt/fish", "/bin/busybox sh"):
            with self.subTest(first):
                document = self.run_script(f"#!{first}\nprint(1)\n", code=255, version="sshx.error.v1")
                self.assert_fields(document, error_kind="config", error__code="interpreter", exit_code=-1)
                self.assert_mentions(document["error"]["message"], first.split()[-1 if "env" in first else 0])
        document = self.run_script("true\n", "--shell", "fish", code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "--shell", "fish", "bash")
        self.assertEqual(self.server.connections(), before)
        self.assertFalse(os.path.exists(self.sshx.audit_path))


class PlanAndEvidenceTest(ScriptCase):
    SECRET = "a-line-that-nobody-repeats"

    def preview(self, *options, **keywords):
        words = ("run", "--target", "target", "--dry-run", *options)
        return self.sshx.json(*words, code=0, version="sshx.request.v1", **keywords)

    def test_digest_and_length_are_in_the_plan_and_text_is_nowhere(self):
        content = f"#!/bin/bash -e\n: {self.SECRET}\n".encode()
        path = self.file(content)
        expected = {
            "kind": "script",
            "command": None,
            "script_runner": "/bin/bash -e",
            "payload_sha256": f"sha256:{sha256(content)}",
            "payload_bytes": len(content),
        }
        plan = self.preview("--script-file", path)["plan"]
        result = self.run_script(content, code=0)
        self.assert_fields(plan["action"], **expected)
        self.assert_fields(result["action"], **expected)
        self.assertEqual(result["plan_hash"], plan["plan_hash"])
        self.sshx.ok("run", "--target", "target", "--script-file", path)
        self.sshx.ok("run", "--target", "target", "--dry-run", "--script-file", path)
        self.preview("--script-stdin", stdin=content)
        self.by_request({"script": content.decode(), "dry_run": True}, code=0)
        self.by_request({"script": content.decode(), "port": 1}, code=255)
        self.sshx.run("run", "--request", "-", stdin=json.dumps({"script": content.decode()}).encode())
        for done in self.sshx.history:
            self.assertNotIn(self.SECRET, done.text + done.error_text)
        for name in os.listdir(self.sshx.state):
            with open(os.path.join(self.sshx.state, name), "rb") as file:
                self.assertNotIn(self.SECRET.encode(), file.read(), name)

    def test_the_evidence_has_digest_and_interpreter(self):
        content = b"exit 0\n"
        execution = self.run_script(content, code=0)["execution_id"]
        events = self.sshx.json("audit", "show", execution, code=0)["events"]
        self.assertTrue(events)
        self.assertIn(f"sha256:{sha256(content)}", json.dumps(events))
        self.assertIn('"script_runner": "sh"', json.dumps(events))

    def test_meaning_counts_and_the_path_does_not(self):
        def hash_of(content, *options, name="script"):
            return self.preview("--script-file", self.file(content, name), *options)["plan"]["plan_hash"]

        base = hash_of("#!/bin/sh\nid\n")
        self.assertEqual(hash_of("#!/bin/sh\nid\n", name="elsewhere"), base)
        by_stdin = self.preview("--script-stdin", stdin=b"#!/bin/sh\nid\n")["plan"]["plan_hash"]
        self.assertEqual(by_stdin, base)
        by_property = self.by_request({"script": "#!/bin/sh\nid\n", "dry_run": True}, code=0)["plan"]["plan_hash"]
        self.assertEqual(by_property, base)
        others = {
            "bytes": hash_of("#!/bin/sh\nid \n"),
            "line ends": hash_of("#!/bin/sh\r\nid\r\n"),
            "shell": hash_of("#!/bin/sh\nid\n", "--shell", "bash"),
            "the same by name": hash_of("#!/bin/sh\nid\n", "--shell", "sh"),
            "cwd": hash_of("#!/bin/sh\nid\n", "--cwd", "/"),
            "env": hash_of("#!/bin/sh\nid\n", "--env", "A=1"),
            "no script": self.preview("--", "#!/bin/sh\nid\n")["plan"]["plan_hash"],
        }
        self.assertEqual(len({base, *others.values()}), len(others) + 1, others)

    def test_text_previews_name_the_interpreter_and_the_digest(self):
        path = self.file("#!/bin/dash\nid\n")
        text = self.sshx.ok("run", "--target", "target", "--dry-run", "--script-file", path).text
        self.assert_mentions(text, "/bin/dash", sha256(b"#!/bin/dash\nid\n"))


class RefusalTest(ScriptCase):
    def refused(self, *options, code, kind="config", stdin=None):
        words = ("run", "--target", "target", *options)
        document = self.sshx.json(*words, code=255, version="sshx.error.v1", stdin=stdin)
        self.assert_fields(document, error_kind=kind, error__code=code, exit_code=-1)
        return f"{document['error']['message']} {document['error']['hint']}"

    def test_one_source_only(self):
        path = self.file("true\n")
        for options in (
            ("--script-file", path, "--", "true"),
            ("--script-stdin", "--", "true"),
            ("--script-file", path, "--script-stdin"),
            ("--script-file", path, "--stdin"),
            ("--script-file", path, "--stdin-file", path),
            ("--script-stdin", "--stdin"),
            ("--script-file", path, "--stdin-hold"),
            ("--script-file", path, "--pty"),
            ("--shell", "bash", "--", "true"),
        ):
            with self.subTest(options):
                self.refused(*options, code="request_conflict", stdin=b"true\n")
        for request in ({"script": "true", "command": "true"}, {"script": "true", "stdin": "x"},
                        {"script": "true", "stdin_base64": "eA=="}, {"script": "true", "script_file": path},
                        {"script": "true", "stdin_hold": True}):  # fmt: skip
            with self.subTest(request):
                self.assert_fields(self.by_request(request, code=255), error__code="request_conflict")

    def test_a_request_from_stdin_leaves_no_stdin_for_a_script(self):
        document = self.by_request({"script_stdin": True}, code=255)
        self.assert_fields(document, error_kind="config")

    def test_files_that_are_no_script(self):
        self.assert_mentions(self.refused("--script-file", self.file(""), code="required"), "empty")
        self.refused("--script-stdin", code="required", stdin=b"")
        absent = os.path.join(self.sshx.directory, "absent.sh")
        self.assert_mentions(self.refused("--script-file", absent, code="not_found", kind="local_io"), absent)
        self.refused("--script-file", self.sshx.directory, code="not_a_file", kind="local_io")
        pipe = os.path.join(self.sshx.directory, "pipe")
        os.mkfifo(pipe)
        self.refused("--script-file", pipe, code="not_a_file", kind="local_io")

    def test_too_large(self):
        path = self.file("echo 6789\n")
        for options, stdin in ((("--script-file", path), None), (("--script-stdin",), b"echo 6789\n")):
            with self.subTest(options):
                limit = ("--max-payload-bytes", "9")
                said = self.refused(*options, *limit, code="payload_too_large", stdin=stdin)
                self.assert_mentions(said, "9", "--max-payload-bytes")
                limit = ("--max-payload-bytes", "10")
                self.sshx.json("run", "--target", "target", "--dry-run", *options, *limit, code=0, stdin=stdin)
        document = self.by_request({"script": "echo 6789\n", "max_payload_bytes": 9}, code=255)
        self.assert_fields(document, error__code="payload_too_large")

    def test_a_script_need_not_be_executable_here(self):
        path = self.file("echo ran\n")
        os.chmod(path, stat.S_IRUSR)
        document = self.sshx.json("run", "--target", "target", "--script-file", path, code=0)
        self.assertEqual(facts.stream(document, "stdout"), b"ran\n")


if __name__ == "__main__":
    unittest.main()
