"""What `patches/libssh2` changes below anything that `sshx` shows: the library itself against scripted and real peers."""

import hashlib
import os
import socket
import unittest

from tests.lab import LabCase
from tests.lab.libssh2 import CHANNEL_CLOSED, REQUEST_DENIED, Failure, Session
from tests.lab.scripted_server import Exchange, ScriptedServer


# What sshx offers; GCM brings its own MAC.
MACS = ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512")
PAIRS = (
    *({"cipher": cipher} for cipher in ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")),
    *({"cipher": cipher, "mac": mac} for cipher in ("aes128-ctr", "aes192-ctr", "aes256-ctr") for mac in MACS),
)


class PatchCase(LabCase):
    def setUp(self):
        """Leaves out the `sshx` of the base class: nothing here runs it."""

    def connect(self, server, **options):
        """A session with `server`, not logged in yet."""
        session = Session(socket.create_connection((server.address, server.port)), **options)
        self.addCleanup(session.close)
        return session

    def session(self, server, **options):
        """A session with `server`, logged in."""
        session = self.connect(server, **options)
        session.log_in(getattr(server, "user", "anyone"), self.lab.key())
        return session

    def scripted(self, script):
        server = ScriptedServer(self.lab.key(name="host"), script)
        self.addCleanup(server.stop)
        return server


class SignalTest(PatchCase):
    """0002-signal-with-answer"""

    def signalled(self, *answers):
        """A session and its channel, whose peer plays the next of `answers` for each request; and what was requested."""
        left, requests = list(answers), []

        def script(exchange):
            def answer(name, want_reply, message):
                requests.append((name, want_reply, message.get_text()))
                left.pop(0)(exchange)

            exchange.on_request(answer)
            exchange.stdout(b"ready")
            exchange.hold()

        session = self.session(self.scripted(script))
        channel = session.execute("wait")
        self.assertEqual(session.read(channel), b"ready")
        return session, channel, requests

    def assert_refused(self, code, session, channel, name="TERM"):
        with self.assertRaises(Failure) as caught:
            session.signal(channel, name)
        self.assertEqual(caught.exception.code, code, caught.exception)

    # B020: a signal that was refused must not pass for one that was delivered.
    def test_the_answer_is_what_the_peer_says(self):
        session, channel, requests = self.signalled(
            Exchange.accept_request, Exchange.refuse_request, Exchange.accept_request
        )
        session.signal(channel, "INT")
        self.assert_refused(REQUEST_DENIED, session, channel, "TERM")
        session.signal(channel, "KILL")
        self.assertEqual(requests, [("signal", True, "INT"), ("signal", True, "TERM"), ("signal", True, "KILL")])

    def test_a_peer_that_closes_the_channel_owes_no_answer(self):
        session, channel, _ = self.signalled(Exchange.close)
        self.assert_refused(CHANNEL_CLOSED, session, channel)

    def test_output_before_the_answer_is_kept(self):
        def talk(exchange):
            exchange.stdout(b"last words")
            exchange.accept_request()

        session, channel, _ = self.signalled(talk)
        session.signal(channel, "TERM")
        self.assertEqual(session.read(channel), b"last words")

    def test_a_real_server_refuses_to_signal_a_forced_command(self):
        server = self.lab.server(config=("ForceCommand echo ready; exec sleep 1000",))
        session = self.session(server)
        channel = session.execute("anything")
        self.assertEqual(session.read(channel), b"ready\n")
        self.assert_refused(REQUEST_DENIED, session, channel)


class CipherTest(PatchCase):
    """0003-whole-packet-cipher-calls"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.lab.server(config=("RekeyLimit 1M",), log_level="DEBUG1")

    def read_exactly(self, session, channel, size):
        content = bytearray()
        while len(content) < size:
            piece = session.read(channel)
            self.assertTrue(piece, f"the stream ended {size - len(content)} bytes early")
            content += piece
        return bytes(content)

    def test_packets_of_all_sizes_come_back_as_they_were(self):
        sizes = (*range(1, 70), 127, 128, 129, 255, 256, 257, 1023, 4095, 4097, 16383, 16385, 32699, 32700, 32767, 40001)
        for methods in PAIRS:
            with self.subTest(**methods):
                session = self.session(self.server, **methods)
                channel = session.execute("cat")
                for size in sizes:
                    content = os.urandom(size)
                    sent = 0
                    while sent < size:
                        sent += session.write(channel, content[sent:])
                    self.assertEqual(self.read_exactly(session, channel, size), content, f"size {size}")

    def test_much_data_both_ways_while_keys_change(self):
        content = os.urandom(5 << 20)
        for methods in PAIRS:
            with self.subTest(**methods):
                changes = self.server.log().count("SSH2_MSG_KEXINIT received")
                session = self.session(self.server, **methods)
                channel = session.execute("cat")
                received, received_size, sent = hashlib.sha256(), 0, 0
                while received_size < len(content):
                    while sent < min(len(content), received_size + (1 << 18)):
                        sent += session.write(channel, content[sent : sent + 32000])
                    piece = session.read(channel)
                    self.assertTrue(piece, f"the stream ended after {received_size} bytes")
                    received.update(piece)
                    received_size += len(piece)
                self.assertEqual(received.hexdigest(), hashlib.sha256(content).hexdigest())
                self.assertGreater(self.server.log().count("SSH2_MSG_KEXINIT received") - changes, 3)

    # A changed packet must end in an error: neither in wrong bytes nor in a loop.
    def test_a_flipped_bit_is_an_error(self):
        content = bytes(range(256)) * 2048
        path = os.path.join(self.lab.new_directory("f"), "content")
        with open(path, "wb") as file:
            file.write(content)
        # The length, the padding length, payload and MAC of the next packets; then somewhere in the large ones.
        positions = (0, 2, 4, 8, 20, 33, 50, 70, 5000, 200001)
        for methods in PAIRS:
            with self.subTest(**methods):
                for position in positions:
                    session = self.session(self.server, **methods)
                    channel = session.execute(f"cat; cat {path}; sleep 1000")
                    session.write(channel, b"begin")
                    self.assertEqual(self.read_exactly(session, channel, 5), b"begin")
                    session.wire.flip_at = position
                    session.end(channel)
                    received = bytearray()
                    with self.assertRaises(Failure, msg=f"position {position}"):
                        while piece := session.read(channel):
                            received += piece
                    self.assertTrue(content.startswith(bytes(received)), f"position {position}")


class SignAtOnceTest(PatchCase):
    """0004-sign-at-once"""

    def attempts(self, at_once):
        """How many requests with a key the server saw."""
        server = self.scripted(None)
        session = self.connect(server)
        if at_once:
            session.sign_at_once()
        session.log_in("anyone", self.lab.key())
        return len(server.authentications)

    def test_the_question_is_left_out_where_that_is_wanted(self):
        self.assertEqual([self.attempts(at_once=False), self.attempts(at_once=True)], [2, 1])

    def test_a_refused_key_leaves_the_session_fit_for_the_next(self):
        server = self.lab.server(config=("MaxAuthTries 2",))
        session = self.connect(server)
        session.sign_at_once()
        with self.assertRaises(Failure):
            session.log_in(server.user, self.lab.key("ecdsa256", name="stranger"))
        session.log_in(server.user, self.lab.key())
        self.assertEqual(session.read(session.execute("echo in")), b"in\n")

    def test_it_counts_as_one_attempt(self):
        server = self.lab.server(config=("MaxAuthTries 1",))
        session = self.connect(server)
        session.sign_at_once()
        session.log_in(server.user, self.lab.key())
        self.assertEqual(session.read(session.execute("echo in")), b"in\n")


class KeepAliveTest(PatchCase):
    """0005-drop-keepalive-answers"""

    MANY = 300

    def echo(self, session, channel):
        """A round trip: what the server answered before was read when it returns."""
        session.write(channel, b"ping")
        self.assertEqual(session.read(channel), b"ping")

    # B027: a connection that is kept alive for long must not grow.
    def test_answers_are_not_kept(self):
        session = self.session(self.lab.server())
        channel = session.execute("cat")
        self.echo(session, channel)
        before = len(session.memory.live)
        for _ in range(self.MANY):
            session.keep_alive()
        self.echo(session, channel)
        self.assertLess(len(session.memory.live) - before, self.MANY // 10)

    # The server answers in the order of the requests; a forward request must get its own answer.
    def test_a_forward_request_among_keepalives_gets_its_own_answer(self):
        server = self.lab.server()
        for before, after in ((0, 0), (3, 0), (1, 1), (0, 2)):
            with self.subTest(before=before, after=after):
                session = self.session(server)
                for _ in range(before):
                    session.keep_alive()
                port = session.listen(0)
                self.assertGreater(port, 0)
                for _ in range(after):
                    session.keep_alive()
                self.assertGreater(session.listen(0), 0)
                self.echo(session, session.execute("cat"))


class MemoryTest(PatchCase):
    """0006-key-exchange-leaks"""

    EXCHANGES = (
        "curve25519-sha256",
        "ecdh-sha2-nistp256",
        "ecdh-sha2-nistp384",
        "ecdh-sha2-nistp521",
        "diffie-hellman-group14-sha256",
        "diffie-hellman-group-exchange-sha256",
    )

    def test_nothing_is_left_of_a_session_that_changed_its_keys(self):
        server = self.lab.server(config=("RekeyLimit 1M",))
        variants = [*PAIRS, *({"key_exchange": name, "cipher": "aes128-gcm@openssh.com"} for name in self.EXCHANGES)]
        for methods in variants:
            with self.subTest(**methods):
                session = self.connect(server, **methods)
                session.log_in(server.user, self.lab.key())
                channel = session.execute("head -c 5M /dev/zero")
                while session.read(channel):
                    pass
                session.close()
                self.assertEqual(len(session.memory.live), 0)


if __name__ == "__main__":
    unittest.main()
