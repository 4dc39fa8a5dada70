"""A scripted SSH server, only for what a real sshd cannot be made to do.

A script is a function of an `Exchange`, called when the exec request has come. It may send any message in any order;
what it does not send is not sent. `PlainListener` is for peers that do not speak SSH at all.
"""

import logging
import random
import socket
import struct
import threading

import paramiko
from paramiko.common import MSG_CHANNEL_REQUEST, cMSG_CHANNEL_CLOSE, cMSG_CHANNEL_DATA, cMSG_CHANNEL_EOF
from paramiko.common import cMSG_CHANNEL_EXTENDED_DATA, cMSG_CHANNEL_FAILURE, cMSG_CHANNEL_REQUEST, cMSG_CHANNEL_SUCCESS

# A client that goes away in the middle is what many tests are about, not news.
logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)

_EXTENDED_STDERR = 1
_MAX_PACKET = 32000


class Exchange:
    """One accepted exec request: what a script uses to answer it, message by message."""

    def __init__(self, transport, channel, connection, command):
        self._transport = transport
        self._channel = channel
        self._connection = connection
        self.command = command
        self.stopped = threading.Event()

    def stdout(self, content):
        self._send(cMSG_CHANNEL_DATA, lambda message: message.add_string(content))

    def stderr(self, content):
        def add(message):
            message.add_int(_EXTENDED_STDERR)
            message.add_string(content)

        self._send(cMSG_CHANNEL_EXTENDED_DATA, add)

    def stdout_split(self, content, seed):
        """Sends `content` in packets of random sizes."""
        for piece in _random_pieces(content, seed):
            self.stdout(piece)

    def stderr_split(self, content, seed):
        for piece in _random_pieces(content, seed):
            self.stderr(piece)

    def exit_status(self, status):
        self._request("exit-status", lambda message: message.add_int(status))

    def exit_signal(self, name, core_dumped=False, text=""):
        """RFC 4254 §6.10; `name` goes out as given, without `SIG` by the rules, but a server may break them."""

        def add(message):
            message.add_string(name)
            message.add_boolean(core_dumped)
            message.add_string(text)
            message.add_string("")

        self._request("exit-signal", add)

    def end_of_file(self):
        self._send(cMSG_CHANNEL_EOF)

    def close(self):
        self._send(cMSG_CHANNEL_CLOSE)
        # Else the library would answer the client's CLOSE by one of its own.
        self._channel.closed = True

    def drop_connection(self):
        """Ends the TCP connection by a reset, without an SSH message."""
        _reset(self._connection)

    def disconnect(self):
        """Ends the TCP connection in the ordinary way, without closing the channel first."""
        self._connection.shutdown(socket.SHUT_RDWR)

    def on_request(self, answer):
        """From here on, calls `answer(name, want_reply, message)` for each channel request instead of answering it."""

        def call(_, message):
            answer(message.get_text(), message.get_boolean(), message)

        table = self._transport._channel_handler_table  # pylint: disable=protected-access
        self._transport._channel_handler_table = {**table, MSG_CHANNEL_REQUEST: call}

    def accept_request(self):
        self._send(cMSG_CHANNEL_SUCCESS)

    def refuse_request(self):
        self._send(cMSG_CHANNEL_FAILURE)

    def hold(self):
        """Sends nothing more until the server is stopped."""
        self.stopped.wait()

    def _request(self, name, add):
        def add_all(message):
            message.add_string(name)
            message.add_boolean(False)
            add(message)

        self._send(cMSG_CHANNEL_REQUEST, add_all)

    def _send(self, kind, add=None):
        message = paramiko.Message()
        message.add_byte(kind)
        message.add_int(self._channel.remote_chanid)
        if add is not None:
            add(message)
        self._transport._send_user_message(message)  # pylint: disable=protected-access


class ScriptedServer:
    """Accepts every public key, then plays `script`.

    `accept_exec`: the answer to the exec request; "never" answers nothing at all.
    `banner_gate`: an Event that must be set before the server says a word.
    `refused_signatures`: public key algorithms that it does not accept, and announces so (RFC 8308).
    """

    address = "127.0.0.1"

    def __init__(self, host_key, script=None, accept_exec=True, banner_gate=None, refused_signatures=()):
        self.host_key = host_key
        self.commands = []
        self.authentications = []
        self._script = script or (lambda exchange: exchange.hold())
        self._accept_exec = accept_exec
        self._banner_gate = banner_gate
        self._refused_signatures = refused_signatures
        self._paramiko_key = paramiko.Ed25519Key(filename=host_key.path)
        self._stopped = threading.Event()
        self.connections = []
        self._live = []
        self._listener = socket.create_server((self.address, 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def known_hosts_line(self):
        return f"[{self.address}]:{self.port} {self.host_key.public_line}"

    def stop(self):
        self._stopped.set()
        self._listener.close()
        for transport, exchanges in self._live:
            for exchange in exchanges:
                exchange.stopped.set()
            transport.close()

    def _accept(self):
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        if self._banner_gate is not None:
            self._banner_gate.wait()
        transport = _Transport(connection, disabled_algorithms={"pubkeys": list(self._refused_signatures)})
        exchanges = []
        self._live.append((transport, exchanges))
        transport.add_server_key(self._paramiko_key)
        try:
            transport.start_server(server=_Account(self, transport, connection, exchanges), event=threading.Event())
        except (OSError, paramiko.SSHException):
            transport.close()

    def request_exec(self, command):
        """Records the command and says how the exec request is answered."""
        self.commands.append(command)
        if self._accept_exec == "never":
            self._stopped.wait()
        return bool(self._accept_exec)

    def play(self, exchange):
        try:
            self._script(exchange)
        except (OSError, EOFError, paramiko.SSHException):
            return  # The client has gone; the test judges what it reported.


class _Account(paramiko.ServerInterface):
    def __init__(self, server, transport, connection, exchanges):
        self._server = server
        self._transport = transport
        self._connection = connection
        self._exchanges = exchanges

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        self._server.authentications.append((username, key.get_name()))
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        if not self._server.request_exec(command):
            return False
        exchange = Exchange(self._transport, channel, self._connection, command)
        self._exchanges.append(exchange)
        # The reply goes out on this thread after this function has returned, so the script needs a thread of its own.
        threading.Thread(target=self._after_reply, args=(exchange,), daemon=True).start()
        return True

    def _after_reply(self, exchange):
        self._transport.exec_answered.wait()
        self._server.play(exchange)


class _Transport(paramiko.Transport):
    """Tells when the answer to the exec request has been written."""

    def __init__(self, connection, **options):
        super().__init__(connection, **options)
        self.exec_answered = threading.Event()

    def _send_message(self, data):
        super()._send_message(data)
        if data.asbytes()[:1] == cMSG_CHANNEL_SUCCESS:
            self.exec_answered.set()


class PlainListener:
    """Accepts TCP connections and writes `greeting` (bytes); then holds them, or closes when `close` is set."""

    address = "127.0.0.1"

    def __init__(self, greeting=b"", close=False):
        self._greeting = greeting
        self._close = close
        self.connections = []
        self._listener = socket.create_server((self.address, 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()
        for connection in self.connections:
            connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            try:
                connection.sendall(self._greeting)
            except OSError:
                continue
            if self._close:
                connection.close()


def _random_pieces(content, seed):
    generator = random.Random(seed)
    at = 0
    while at < len(content):
        size = generator.choice((1, 7, 100, 4096, _MAX_PACKET))
        yield content[at : at + size]
        at += size


def _reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
