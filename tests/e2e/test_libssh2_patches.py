"""What `patches/libssh2` changes below anything that `sshx` shows: the library itself against scripted and real peers."""

import socket
import unittest

from tests.lab import LabCase
from tests.lab.libssh2 import CHANNEL_CLOSED, REQUEST_DENIED, Failure, Session
from tests.lab.scripted_server import Exchange, ScriptedServer


class PatchCase(LabCase):
    def session(self, server, **options):
        """A session with `server`, logged in."""
        connection = socket.create_connection((server.address, server.port))
        connection.setblocking(False)
        session = Session(connection, **options)
        self.addCleanup(session.close)
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


if __name__ == "__main__":
    unittest.main()
