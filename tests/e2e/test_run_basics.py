"""`sshx run`: text and JSON, exit codes, quoting, and what the result says of a plain run."""

import os
import unittest

from tests.lab import TargetCase, eventually

DEFAULT_LIMITS = {
    "connect_timeout_ms": 10000,
    "timeout_ms": 60000,
    "max_output_bytes": 10485760,
    "server_alive_interval_ms": 5000,
    "server_alive_count_max": 3,
    "host_timeout_ms": None,
    "global_timeout_ms": None,
    "fail_fast": False,
    "max_failures": None,
    "concurrency": None,
    "per_address": None,
}


class ExitCodeTest(TargetCase):
    def test_remote_status_is_the_exit_code(self):
        for status in (0, 1, 2, 63, 126, 127, 128, 137, 254):
            with self.subTest(status=status):
                self.sshx.expect(status, "run", "--target", "target", "--", f"exit {status}")
                document = self.run_json(f"exit {status}", code=status)
                self.assert_fields(
                    document, exit_code=status, signal=None, success=status == 0, completion="completed", executed=True
                )

    def test_remote_255_is_told_apart_by_the_document(self):
        document = self.run_json("exit 255", code=255)
        self.assert_fields(document, exit_code=255, error_kind="remote_exit", completion="completed", executed=True)

    def test_command_not_found_is_127(self):
        document = self.run_json("/no/such/program", code=127)
        self.assert_fields(document, exit_code=127, error__kind="remote_exit", error__code="status")

    def test_not_executable_is_126(self):
        self.assert_fields(self.run_json("/etc/passwd", code=126), exit_code=126)

    def test_failing_command_says_so(self):
        document = self.run_json("exit 3", code=3)
        self.assert_fields(
            document,
            success=False,
            status="failed",
            error_kind="remote_exit",
            error__kind="remote_exit",
            error__code="status",
            remote_state="exited",
            completion="completed",
        )
        self.assert_mentions(document["error"]["message"], "3")


class TextModeTest(TargetCase):
    def test_streams_come_apart_and_unchanged(self):
        done = self.sshx.ok("run", "--target", "target", "--", "echo out; echo err >&2")
        self.assertEqual(done.out, b"out\n")
        self.assertEqual(done.err, b"err\n")

    def test_output_comes_while_the_command_runs(self):
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        running = self.sshx.start(
            "run", "--target", "target", "--", f"echo first; echo warning >&2; read line < {gate}; echo $line"
        )
        # The command cannot go on before the gate is opened, so these lines have not waited for its end.
        running.wait_for(b"first\n", "out")
        running.wait_for(b"warning\n", "err")
        with open(gate, "w", encoding="ascii") as file:
            file.write("second\n")
        done = running.wait()
        self.assertEqual((done.code, done.out), (0, b"first\nsecond\n"))

    def test_failure_of_sshx_itself_is_a_message_on_stderr(self):
        done = self.sshx.expect(255, "run", "--target", "nowhere", "--", "true")
        self.assertEqual(done.out, b"")
        self.assertTrue(done.err.startswith(b"sshx: "), done)

    def test_no_terminal_and_no_variables_of_ours(self):
        document = self.run_json("test -t 0 || test -t 1 || test -t 2 || echo none; env | grep -i sshx_h", code=1)
        self.assertEqual(document["stdout"], "none\n")


class QuotingTest(TargetCase):
    def test_one_word_stands_as_it_is(self):
        document = self.run_json("echo $((40+2)); echo 'a  b'", code=0)
        self.assertEqual(document["stdout"], "42\na  b\n")
        self.assert_fields(document, command="echo $((40+2)); echo 'a  b'", action__kind="command")

    def test_several_words_arrive_one_by_one(self):
        words = ["a b", "$HOME", "it's", "*", "", "\\", "a\nb", "-n", ";id", "ü"]
        document = self.run_json("printf", "<%s>\\n", *words, code=0)
        self.assertEqual(document["stdout"], "".join(f"<{word}>\n" for word in words))

    def test_options_after_the_dashes_belong_to_the_command(self):
        done = self.sshx.ok("run", "--target", "target", "--", "echo", "--json", "--dry-run")
        self.assertEqual(done.out, b"--json --dry-run\n")


class ResultTest(TargetCase):
    def test_fields_of_a_plain_run(self):
        document = self.run_json("echo hello", options=("--request-id", "ticket-1"), code=0, version="sshx.result.v1")
        self.assert_fields(
            document,
            operation="run",
            request_id="ticket-1",
            parent_execution_id=None,
            status="succeeded",
            phase="complete",
            completion="completed",
            executed=True,
            change_state="unknown",
            remote_state="exited",
            exit_code=0,
            signal=None,
            success=True,
            error=None,
            error_kind=None,
            stdout="hello\n",
            stdout_bytes=6,
            stdout_truncated=False,
            stdout_omitted_bytes=0,
            stderr="",
            stderr_bytes=0,
            auth_method="publickey",
            audit_status="written",
            risk="mutation",
            effects=["unknown"],
            warnings=[],
        )
        self.assert_fields(
            document["action"], kind="command", intent="unknown", command="echo hello", stdin_bytes=0, uses_sudo=False
        )

    def test_target_and_its_flat_copy(self):
        document = self.run_json("true", code=0)
        self.assertEqual(
            document["target"],
            {
                "alias": "target",
                "address": self.server.address,
                "port": self.server.port,
                "user": self.server.user,
                "groups": [],
                "tags": {},
                "via": [],
            },
        )
        self.assert_fields(
            document, host=self.server.address, port=self.server.port, user=self.server.user, command="true"
        )

    def test_peer_names_the_host_key_that_was_seen(self):
        (peer,) = self.run_json("true", code=0)["peers"]
        self.assert_fields(
            peer,
            address=self.server.address,
            port=self.server.port,
            user=self.server.user,
            host_key_fingerprint=self.server.host_keys["ed25519"].fingerprint,
        )

    def test_groups_and_tags_of_the_host(self):
        self.sshx.ok("host", "update", "target", "--group", "web", "--group", "eu", "--tag", "env=prod")
        document = self.run_json("true", code=0)
        self.assertEqual(sorted(document["target"]["groups"]), ["eu", "web"])
        self.assertEqual(document["target"]["tags"], {"env": "prod"})

    def test_intent_is_recorded_and_changes_no_risk(self):
        document = self.run_json("true", options=("--intent", "read"), code=0)
        self.assert_fields(document, action__intent="read", risk="mutation")

    def test_ids_differ_and_timings_are_there(self):
        first, second = self.run_json("true", code=0), self.run_json("true", code=0)
        self.assertNotEqual(first["execution_id"], second["execution_id"])
        self.assertNotEqual(first["run_id"], second["run_id"])
        for name, value in first["timings"].items():
            self.assertIsInstance(value, int, name)
            self.assertGreaterEqual(value, 0, name)

    def test_fingerprint_is_of_the_facts_and_not_of_ids_and_times(self):
        first, second = self.run_json("echo a", code=0), self.run_json("echo a", code=0)
        other = self.run_json("echo b", code=0)
        self.assertEqual(first["execution_fingerprint"], second["execution_fingerprint"])
        self.assertNotEqual(first["execution_fingerprint"], other["execution_fingerprint"])

    def test_effective_limits_are_echoed(self):
        options = ("--timeout", "1m30s", "--connect-timeout", "2.5s", "--max-output-bytes", "64K",
                   "--server-alive-interval", "2s", "--server-alive-count-max", "7")  # fmt: skip
        document = self.run_json("true", options=options, code=0)
        self.assert_fields(
            document["limits"], connect_timeout_ms=2500, timeout_ms=90000, max_output_bytes=65536,
            server_alive_interval_ms=2000, server_alive_count_max=7,
        )  # fmt: skip

    def test_default_limits(self):
        document = self.run_json("true", code=0)
        self.assertEqual(document["limits"], DEFAULT_LIMITS)


class AddressTest(TargetCase):
    def test_literal_address_with_user_and_port(self):
        address = f"{self.server.user}@{self.server.endpoint}"
        document = self.sshx.json(
            "run", "--address", address, "--identity", self.lab.key().path, "--", "echo hi", code=0
        )
        self.assert_fields(document, target__alias=None, target__address=self.server.address, stdout="hi\n")
        self.assert_fields(document, target__port=self.server.port, target__user=self.server.user)

    def test_user_and_port_as_options(self):
        document = self.sshx.json(
            "run", "--address", self.server.address, "--port", self.server.port, "--user", self.server.user,
            "--identity", self.lab.key().path, "--", "true", code=0,
        )  # fmt: skip
        self.assert_fields(document, target__port=self.server.port, success=True)

    def test_options_override_the_host(self):
        # Port 1 refuses, so the run can only succeed by the option.
        self.sshx.ok("host", "update", "target", "--port", "1")
        document = self.run_json("true", options=("--port", self.server.port), code=0)
        self.assert_fields(document, target__alias="target", target__port=self.server.port)

    # B114: no target never means "the first host".
    def test_no_target_lists_the_names_and_runs_nothing(self):
        document = self.sshx.json("run", "--", "true", code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config", error__code="no_target")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "target", "--target")

    def test_unknown_target_never_falls_through_to_dns(self):
        document = self.sshx.json("run", "--target", "localhost", "--", "true", code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config", error__code="unknown_target", exit_code=-1)

    def test_unknown_target_suggests_the_nearest(self):
        document = self.sshx.json("run", "--target", "targte", "--", "true", code=255)
        self.assert_fields(document, error__code="unknown_target")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "targte", "target")

    # B151: a word that starts with a dash is never an option of something else.
    def test_address_that_looks_like_an_option_is_refused(self):
        mark = os.path.join(self.sshx.directory, "pwned")
        for address in (f"-oProxyCommand=touch {mark}", f"user@-oProxyCommand=touch {mark}", "-", "@", "user@", ":22",
                        "host:", "host:0", "host:65536", "host:22x", "[::1", "::1]:22", "a b"):  # fmt: skip
            with self.subTest(address=address):
                document = self.sshx.json("run", f"--address={address}", "--", "true", code=255)
                self.assert_fields(document, error_kind="config")
        self.assertFalse(os.path.exists(mark))


class ConcurrencyTest(TargetCase):
    def test_two_runs_at_once_do_not_disturb_each_other(self):
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        held = self.sshx.start("run", "--target", "target", "--", f"cat {gate}")
        eventually(self.server.session_pids, "the first run is connected")
        self.assert_fields(self.run_json("echo second", code=0), stdout="second\n")
        with open(gate, "w", encoding="ascii") as file:
            file.write("first\n")
        self.assertEqual(held.wait().out, b"first\n")


if __name__ == "__main__":
    unittest.main()
