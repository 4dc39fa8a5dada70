"""A real sshd behind a bad network: stalls, cuts and flipped bits anywhere, tiny segments, latency, silence."""

import os
import unittest

from tests.lab import LabCase, eventually
from tests.lab.facts import stream
from tests.lab.fault_proxy import FaultProxy, Rule

_MIB = 1 << 20
# No more than EOF and CLOSE take. The exit status may come before the output: sshd tells it when the child is gone.
_AFTER_THE_OUTPUT = 70
_OUTPUT = b"".join(b"%05d\n" % number for number in range(600))


class ProxyCase(LabCase):
    def through(self, *rules, config=()):
        """A trusted proxy in front of a server of the class, as the host `target`."""
        proxy = FaultProxy(self.serve(config), *rules)
        self.addCleanup(proxy.stop)
        self.sshx.trust(proxy.known_hosts_line())
        self.sshx.add_host("target", proxy, identity=self.lab.key())
        return proxy

    def serve(self, config=()):
        """A server with these sshd_config lines; the one of the class is kept for each."""
        cls = type(self)
        if "servers" not in vars(cls):
            cls.servers = {}
        if config not in cls.servers:
            cls.servers[config] = self.lab.server(config=config)
        return cls.servers[config]

    def gate(self, name="gate"):
        path = os.path.join(self.sshx.directory, name)
        os.mkfifo(path)
        return path

    def run_json(self, command, *options, **keywords):
        return self.sshx.json("run", "--target", "target", *options, "--", command, **keywords)


def _open_gate(path):
    with open(path, "w", encoding="ascii") as file:
        file.write("now\n")


class SweepTest(ProxyCase):
    """Wherever it strikes, the result says nothing that is not so."""

    config = ()

    def positions(self, step=151):
        """Pairs of direction and byte: dense up to the command's begin, and in the packets behind its output."""
        passed = [self.passed() for _ in range(3)]
        # On a busy machine the same output comes in more packets, each with bytes of its own.
        up, down = min(up for up, _ in passed), max(down for _, down in passed)
        self.output_passed = down - _AFTER_THE_OUTPUT
        begin = self.output_passed - len(_OUTPUT)
        tail = range(self.output_passed, down, 17)
        return [
            *(("up", byte) for byte in range(0, up, step + 16)),
            *(("down", byte) for byte in (*range(0, begin, step), *tail)),
        ]

    def passed(self):
        """The bytes of an undisturbed run, up and down."""
        self.sshx = self.lab.sshx()
        proxy = self.through(config=self.config)
        self.assertEqual(stream(self.run_json(self.command(), code=3), "stdout"), _OUTPUT)
        return proxy.passed("up"), proxy.passed("down")

    def command(self):
        self.marks = os.path.join(self.sshx.directory, "marks")
        return f"echo x >> {self.marks}; seq -f %05g 0 599; exit 3"

    def strike(self, direction, byte, fault):
        self.sshx = self.lab.sshx()
        self.through(Rule(fault, direction, byte=byte), config=self.config)
        # A flipped length makes one side wait for the rest of a packet that never comes: its own clocks end that.
        document = self.run_json(
            self.command(), "--connect-timeout", "3s", "--timeout", "3s",
            "--server-alive-interval", "2s", "--server-alive-count-max", "1",
        )  # fmt: skip
        self.assert_true(document)
        if direction == "down" and byte >= self.output_passed:
            self.assertEqual(stream(document, "stdout"), _OUTPUT)

    def assert_true(self, document):
        """What the document says is so."""
        if document["executed"]:
            eventually(lambda: os.path.exists(self.marks), "what was executed left its mark")
        if document["executed"] is False:
            self.assertFalse(os.path.exists(self.marks))
            self.assert_fields(document, completion="not_started", stdout="", change_state="unchanged")
        if document["exit_code"] == 3:
            self.assert_fields(document, error_kind="remote_exit", completion="completed")
            self.assertEqual(stream(document, "stdout"), _OUTPUT)
        else:
            self.assert_fields(document, exit_code=-1, success=False)
            self.assertIn(document["error_kind"], ("connect", "connection_lost", "protocol", "timeout", "host_key"))
        self.assertTrue(_OUTPUT.startswith(stream(document, "stdout")))
        if os.path.exists(self.marks):
            # The shell makes the file before it writes the mark.
            eventually(lambda: os.path.getsize(self.marks), "what was executed left its mark")
            with open(self.marks, encoding="ascii") as file:
                self.assertEqual(file.read(), "x\n")

    # B202
    def test_cuts_and_resets(self):
        for number, (direction, byte) in enumerate(self.positions()):
            fault = "reset" if number % 2 else "cut"
            with self.subTest(fault, direction=direction, byte=byte):
                self.strike(direction, byte, lambda link, fault=fault: getattr(link, fault)())

    def flip_bits(self, config, step):
        self.config = config
        for direction, byte in self.positions(step):
            with self.subTest(config, direction=direction, byte=byte):
                self.strike(direction, byte, lambda link, direction=direction: link.flip(direction))

    def test_flipped_bits(self):
        self.flip_bits(("Ciphers aes256-gcm@openssh.com",), 151)

    # Each way of telling a damaged packet: after a failed check nothing may be read on, and certainly not as verified.
    def test_flipped_bits_with_a_counter_mode_cipher(self):
        for mac in ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-256"):
            self.flip_bits(("Ciphers aes256-ctr", f"MACs {mac}"), 509)


class SegmentTest(ProxyCase):
    # B183
    def test_keys_change_under_load_in_tiny_segments(self):
        content = os.urandom(4 * _MIB)

        def shred(link):
            link.segment("down", 61)
            link.segment("up", 89)

        self.through(Rule(shred, "down", byte=0), config=("RekeyLimit 1M",))
        done = self.sshx.ok(
            "run", "--target", "target", "--stdin", "--timeout", "300s", "--",
            "head -c 4M /dev/zero >&2 & cat; wait", stdin=content, timeout=330,
        )  # fmt: skip
        self.assertTrue(done.out == content, "stdout differs from stdin")
        self.assertEqual(done.err, bytes(4 * _MIB))

    # B025
    def test_a_slow_network_changes_nothing(self):
        def drag(link):
            link.slow("down", 0.05)
            link.slow("up", 0.05)

        self.through(Rule(drag, "down", byte=0))
        document = self.run_json("seq -f %05g 0 599; echo end >&2; exit 3", code=3)
        self.assertEqual(stream(document, "stdout"), _OUTPUT)
        self.assert_fields(document, stderr="end\n", completion="completed", error_kind="remote_exit")


class StallTest(ProxyCase):
    def test_a_stall_that_passes_loses_nothing(self):
        for directions in (("down",), ("up",), ("up", "down")):
            with self.subTest(directions):
                self.sshx = self.lab.sshx()
                content = os.urandom(2 * _MIB)
                proxy = self.through(Rule(lambda link, which=directions: link.stall(*which), directions[0], byte=_MIB))
                source = os.path.join(self.sshx.directory, "content")
                with open(source, "wb") as file:
                    file.write(content)
                with open(source, "rb") as file:
                    running = self.sshx.start("run", "--target", "target", "--stdin", "--", "cat", stdin=file)
                eventually(lambda: proxy.links and proxy.links[0].stalled, "the relay has stalled")
                proxy.links[0].resume()
                done = running.wait()
                self.assertEqual(done.code, 0, done)
                self.assertTrue(done.out == content, "stdout differs from stdin")

    # B027
    def test_a_half_open_connection_ends_by_our_own_clock(self):
        gate = self.gate()
        proxy = self.through()
        running = self.sshx.start(
            "run", "--target", "target", "--json", "--server-alive-interval", "2s", "--server-alive-count-max", "1",
            "--timeout", "300s", "--", f"echo begun; read x < {gate}; read x < {gate}",
        )  # fmt: skip
        _open_gate(gate)
        proxy.strike(lambda link: link.stall())
        document = self.sshx.document(running.wait())
        self.assert_fields(
            document,
            error__kind="connection_lost",
            error__code="silent",
            executed=True,
            completion="unknown",
            remote_state="unknown",
            exit_code=-1,
            limits__server_alive_interval_ms=2000,
            limits__server_alive_count_max=1,
        )
        self.assertEqual(document["error"]["retry_safety"], "verify_first")
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        self.assert_fields(event, error_kind="connection_lost", executed=True, completion="unknown")

    # B025
    def test_a_silent_command_on_a_server_that_answers_is_left_alone(self):
        gate = self.gate()
        proxy = self.through()
        running = self.sshx.start(
            "run", "--target", "target", "--json", "--server-alive-interval", "2s", "--server-alive-count-max", "5",
            "--", f"read x < {gate}; read x < {gate}; echo ok",
        )  # fmt: skip
        _open_gate(gate)
        for _ in range(3):
            # Nothing but a probe and its answer makes bytes pass now.
            up, down = proxy.passed("up"), proxy.passed("down")
            eventually(
                lambda up=up, down=down: proxy.passed("up") > up and proxy.passed("down") > down, "a probe is answered"
            )
        _open_gate(gate)
        self.assert_fields(self.sshx.document(running.wait()), stdout="ok\n", success=True, completion="completed")

    def test_no_probes_when_they_are_switched_off(self):
        proxy = self.through(Rule(lambda link: link.stall(), "down", byte=100000))
        document = self.run_json(
            "seq 1 100000; sleep 600", "--server-alive-interval", "0", "--timeout", "3s", code=255
        )
        self.assert_fields(document, error_kind="timeout", limits__server_alive_interval_ms=0)
        self.assertEqual(len(proxy.links), 1)

    def test_the_defaults_are_told(self):
        self.through()
        self.assert_fields(
            self.run_json("true", code=0), limits__server_alive_interval_ms=5000, limits__server_alive_count_max=3
        )


class OnceTest(ProxyCase):
    # B202: whatever the network does after the request, it is not sent again.
    def test_a_cut_after_the_request_gives_one_execution(self):
        for name, fault in {"cut": lambda link: link.cut(), "reset": lambda link: link.reset()}.items():
            with self.subTest(name):
                self.sshx = self.lab.sshx()
                gate, marks = self.gate(), os.path.join(self.sshx.directory, "marks")
                proxy = self.through()
                running = self.sshx.start(
                    "run", "--target", "target", "--json", "--", f"echo x >> {marks}; read x < {gate}; sleep 60"
                )
                _open_gate(gate)
                proxy.strike(fault)
                document = self.sshx.document(running.wait())
                self.assert_fields(document, error_kind="connection_lost", completion="unknown")
                # Null when the answer to the request was cut off as well.
                self.assertIn(document["executed"], (True, None))
                self.assertEqual(document["error"]["retry_safety"], "verify_first")
                self.assertFalse(document["error"]["retryable"])
                self.assertEqual(len(proxy.links), 1)
                with open(marks, encoding="ascii") as file:
                    self.assertEqual(file.read(), "x\n")


if __name__ == "__main__":
    unittest.main()
