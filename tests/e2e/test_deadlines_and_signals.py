"""Deadlines, cancellation by signals, and every way in which a connection does not come about."""

import json
import os
import signal
import threading
import unittest

from tests.lab import LabCase, TargetCase, eventually
from tests.lab.scripted_server import PlainListener, ScriptedServer


class ConnectTest(LabCase):
    """Failures before anything ran: the kind is `connect`, and nothing was executed."""

    def run_at(self, address, *options, **keywords):
        self.sshx.trust("* " + self.lab.key(name="host").public_line)
        return self.sshx.json(
            "run", f"--address=alice@{address}", "--identity", self.lab.key().path, *options, "--", "true",
            code=255, version="sshx.result.v1", **keywords,
        )  # fmt: skip

    def listener(self, **options):
        listener = PlainListener(**options)
        self.addCleanup(listener.stop)
        return f"{listener.address}:{listener.port}"

    def assert_connect(self, document, *codes, kind="connect"):
        self.assert_fields(
            document,
            success=False,
            status="failed",
            error_kind=kind,
            executed=False,
            completion="not_started",
            remote_state="not_started",
            exit_code=-1,
            auth_method=None,
            stdout="",
        )
        self.assertIn(document["error"]["code"], codes)
        # Nothing has run, so sending the request again can do no harm.
        self.assertEqual(document["error"]["retry_safety"], "safe")

    def test_refused(self):
        document = self.run_at("127.0.0.1:1")
        self.assert_connect(document, "refused")
        self.assert_mentions(document["error"]["message"], "127.0.0.1", "1")

    def test_unreachable(self):
        # TCP to a multicast address has no route.
        self.assert_connect(self.run_at("224.0.0.1:22"), "unreachable")

    def test_name_that_does_not_resolve(self):
        # Resolver options keep the answer short where there is no name server.
        document = self.run_at("no-such-host.invalid:22", environment={"RES_OPTIONS": "timeout:1 attempts:1"})
        self.assert_connect(document, "dns")
        self.assert_mentions(document["error"]["message"], "no-such-host.invalid")

    # B026
    def test_a_server_that_says_nothing(self):
        document = self.run_at(self.listener(), "--connect-timeout", "1s")
        self.assert_connect(document, "timeout")
        self.assert_fields(document, error__phase="connect")

    def test_a_server_that_stops_after_its_banner(self):
        document = self.run_at(self.listener(greeting=b"SSH-2.0-Fake_1\r\n"), "--connect-timeout", "1s")
        self.assert_connect(document, "timeout")

    def test_a_server_that_never_ends_its_banner_lines(self):
        document = self.run_at(self.listener(greeting=b"hello\r\n" * 100000), "--connect-timeout", "2s")
        self.assert_connect(document, "timeout", "not_ssh")

    def test_a_server_that_is_not_ssh(self):
        for greeting in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail.example ESMTP\r\n", b"\x16\x03\x01\x02\x00\x01"):
            with self.subTest(greeting):
                document = self.run_at(self.listener(greeting=greeting, close=True), "--connect-timeout", "5s")
                self.assert_connect(document, "not_ssh")

    def test_ssh_1_is_not_ours(self):
        document = self.run_at(self.listener(greeting=b"SSH-1.5-Old\r\n", close=True), "--connect-timeout", "5s")
        self.assertIn(document["error_kind"], ("connect", "protocol"))
        self.assert_fields(document, executed=False)

    # B110
    def test_a_server_that_closes_before_its_banner(self):
        self.assert_connect(self.run_at(self.listener(close=True)), "banner_closed")

    # What sshd says to whom it turns away; a line like any other before the identification (RFC 4253 §4.2).
    def test_a_server_that_turns_connections_away(self):
        for line in (b"Exceeded MaxStartups\r\n", b"Not allowed at this time\r\n"):
            with self.subTest(line):
                document = self.run_at(self.listener(greeting=line, close=True))
                self.assert_connect(document, "banner_closed")
                self.assert_mentions(document["error"]["message"], line.decode().strip())

    def test_a_late_banner_is_waited_for(self):
        gate = threading.Event()

        def script(exchange):
            exchange.stdout(b"late\n")
            exchange.exit_status(0)
            exchange.close()

        server = ScriptedServer(self.lab.key(name="host"), script, banner_gate=gate)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        running = self.sshx.start(
            "run", "--address", f"alice@{server.address}:{server.port}", "--identity", self.lab.key().path,
            "--json", "--", "true",
        )  # fmt: skip
        eventually(lambda: server.connections, "sshx has connected and waits for the banner")
        gate.set()
        self.assert_fields(self.sshx.document(running.wait()), stdout="late\n", success=True)

    def test_no_common_algorithm(self):
        server = self.lab.server(config=("KexAlgorithms sntrup761x25519-sha512@openssh.com",))
        document = self.run_at(server.endpoint)
        self.assert_connect(document, "no_common_algorithm", kind="protocol")

    def test_garbage_after_the_banner(self):
        for garbage in (b"\xff" * 64, b"\x00\x00\x00\x0c\x0a\x14" + bytes(10)):
            with self.subTest(garbage):
                address = self.listener(greeting=b"SSH-2.0-Fake_1\r\n" + garbage, close=True)
                document = self.run_at(address, "--connect-timeout", "5s")
                self.assert_fields(document, error__kind="protocol", error__code="handshake", executed=False)

    def test_a_server_that_closes_after_its_banner(self):
        address = self.listener(greeting=b"SSH-2.0-Fake_1\r\n", close=True)
        document = self.run_at(address, "--connect-timeout", "5s")
        self.assert_connect(document, "reset", "banner_closed")


class CommandDeadlineTest(TargetCase):
    # B026: a command that takes too long is no connection failure.
    def test_command_timeout(self):
        document = self.run_json("echo begun; sleep 60", options=("--timeout", "1s"), code=255)
        self.assert_fields(
            document,
            success=False,
            exit_code=-1,
            error__kind="timeout",
            error__code="command",
            executed=True,
            completion="partial",
            change_state="unknown",
            stdout="begun\n",
        )
        self.assertIn(document["remote_state"], ("unknown", "terminated"))
        self.assertNotEqual(document["error"]["retry_safety"], "safe")

    def test_text_mode_says_so(self):
        done = self.sshx.expect(255, "run", "--target", "target", "--timeout", "1s", "--", "echo begun; sleep 60")
        self.assertEqual(done.out, b"begun\n")
        self.assert_mentions(done.error_text, "sshx: ", "time")

    # B024: never a silent clamp.
    def test_a_limit_out_of_range_is_an_error(self):
        for option, value in (
            ("--timeout", "0"),
            ("--timeout", "-1"),
            ("--timeout", "1000000000"),
            ("--timeout", "86401"),
            ("--connect-timeout", "0"),
            ("--connect-timeout", "601"),
            ("--max-output-bytes", "67108865"),
            ("--max-output-bytes", "-1"),
            ("--port", "0"),
            ("--port", "65536"),
        ):
            with self.subTest(option=option, value=value):
                document = self.run_json("true", options=(f"{option}={value}",), code=255)
                self.assert_fields(document, schema_version="sshx.error.v1", error_kind="config")
                self.assert_mentions(document["error"]["message"], option)

    def test_a_bad_duration_is_an_error(self):
        for value in ("", "abc", "1x", "1h30", "30 s", "s", "1e3", "0x10", "nan", "inf", "1..5s", "٣s", "1m1h", "1s2s"):
            with self.subTest(value):
                document = self.run_json("true", options=(f"--timeout={value}",), code=255)
                self.assert_fields(document, schema_version="sshx.error.v1", error_kind="config", error__code="duration")

    def test_spellings_of_a_duration(self):
        for value, milliseconds in (
            ("30s", 30000), ("2m", 120000), ("1h30m", 5400000), ("500ms", 500), ("1.5s", 1500), ("90", 90000),
            ("0.5", 500), ("24h", 86400000), ("1m30s", 90000),
        ):  # fmt: skip
            with self.subTest(value):
                document = self.sshx.json(
                    "run", "--target", "target", "--dry-run", "--timeout", value, "--", "true", code=0
                )
                self.assertEqual(document["plan"]["limits"]["timeout_ms"], milliseconds)


class CancelTest(TargetCase):
    # B029
    def test_signals_give_a_cancelled_result_and_a_finished_row(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                mark = os.path.join(self.sshx.directory, number.name)
                running = self.sshx.start(
                    "run", "--target", "target", "--json", "--request-id", number.name, "--",
                    f"echo begun; touch {mark}; sleep 60",
                )  # fmt: skip
                eventually(lambda: os.path.exists(mark), "the command runs")
                running.signal(number)
                done = running.wait()
                self.assertEqual(done.code, 255, done)
                document = self.sshx.document(done, "sshx.result.v1")
                self.assert_fields(
                    document,
                    success=False,
                    error__kind="cancelled",
                    error__code="signal",
                    executed=True,
                    completion="partial",
                    exit_code=-1,
                    stdout="begun\n",
                    audit_status="written",
                )
                self.assertIn(document["remote_state"], ("unknown", "terminated"))
                (event,) = self.sshx.json("audit", "query", "--request-id", number.name, code=0)["events"]
                self.assert_fields(
                    event, outcome="failed", error_kind="cancelled", execution_id=document["execution_id"]
                )

    def test_text_mode_says_so(self):
        running = self.sshx.start("run", "--target", "target", "--", "echo begun; sleep 60")
        running.wait_for(b"begun\n")
        running.signal(signal.SIGINT)
        done = running.wait()
        self.assertEqual((done.code, done.out), (255, b"begun\n"))
        self.assertTrue(done.err.startswith(b"sshx: "), done)

    def test_while_connecting(self):
        listener = PlainListener()
        self.addCleanup(listener.stop)
        running = self.sshx.start("run", "--target", "target", "--port", listener.port, "--json", "--", "true")
        eventually(lambda: listener.connections, "sshx has connected")
        running.signal(signal.SIGTERM)
        document = self.sshx.document(running.wait(), "sshx.result.v1")
        self.assert_fields(document, error_kind="cancelled", executed=False, completion="not_started")

    # B021
    def test_before_the_exec_request_is_answered(self):
        server = ScriptedServer(self.lab.key(name="host"), accept_exec="never")
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        running = self.sshx.start("run", "--target", "target", "--port", server.port, "--json", "--", "true")
        eventually(lambda: server.commands, "the exec request has come")
        running.signal(signal.SIGTERM)
        document = self.sshx.document(running.wait(), "sshx.result.v1")
        self.assert_fields(document, error_kind="cancelled", executed=None, completion="unknown", remote_state="unknown")

    def test_host_test_is_cancelled_too(self):
        listener = PlainListener()
        self.addCleanup(listener.stop)
        self.sshx.ok("host", "update", "target", "--port", listener.port)
        running = self.sshx.start("host", "test", "target", "--json")
        eventually(lambda: listener.connections, "sshx has connected")
        running.signal(signal.SIGTERM)
        done = running.wait()
        self.assertNotEqual(done.code, 0)
        document = json.loads(done.out)
        kinds = [document["error_kind"], *(host["test"]["error_kind"] for host in document.get("hosts", []))]
        self.assertIn("cancelled", kinds)


if __name__ == "__main__":
    unittest.main()
