"""A scripted SSH server, only for what a real sshd cannot be made to do.

A script is a function of an `Exchange`, called when the exec request has come. It may send any message in any order;
what it does not send is not sent. A fault is a function of a `Moment`, called when the server's own message of a phase
is about to go out; it decides what goes out instead. `PlainListener` is for peers that do not speak SSH at all.
"""

import logging
import random
import socket
import struct
import threading

import paramiko

# A client that goes away in the middle is what many tests are about, not news.
logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)

# RFC 4253 §12, RFC 4252 §6, RFC 4254 §9.
DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, KEXINIT, KEX_REPLY = 1, 2, 3, 4, 20, 31
USERAUTH_FAILURE, USERAUTH_SUCCESS, USERAUTH_BANNER, USERAUTH_PK_OK = 51, 52, 53, 60
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
CHANNEL_OPEN, CHANNEL_OPEN_CONFIRMATION, CHANNEL_OPEN_FAILURE, CHANNEL_WINDOW_ADJUST = 90, 91, 92, 93
CHANNEL_DATA, CHANNEL_EXTENDED_DATA, CHANNEL_EOF, CHANNEL_CLOSE = 94, 95, 96, 97
CHANNEL_REQUEST, CHANNEL_SUCCESS, CHANNEL_FAILURE = 98, 99, 100

# The phase that a message of the server belongs to. The banner is no message, and "output" is what follows the first
# data (see `work`), so that a fault in it finds a command that has begun.
_PHASES = {
    KEXINIT: "negotiation",
    KEX_REPLY: "key exchange",
    USERAUTH_FAILURE: "authentication",
    USERAUTH_SUCCESS: "authentication",
    USERAUTH_PK_OK: "authentication",
    CHANNEL_OPEN_CONFIRMATION: "channel open",
    CHANNEL_SUCCESS: "exec request",
    CHANNEL_DATA: "first output",
    CHANNEL_EXTENDED_DATA: "output",
    CHANNEL_REQUEST: "exit",
    CHANNEL_EOF: "close",
    CHANNEL_CLOSE: "close",
}
_EXTENDED_STDERR = 1
_MAX_PACKET = 32000


def encode(kind, *fields):
    """One message: bool → boolean, int → uint32, bytes and str → string (RFC 4251 §5)."""
    message = paramiko.Message()
    message.add_byte(bytes([kind]))
    for value in fields:
        if isinstance(value, bool):
            message.add_boolean(value)
        elif isinstance(value, int):
            message.add_int(value)
        else:
            message.add_string(value)
    return message.asbytes()


def work(exchange):
    """The script of a faultless run: `begun` on stdout, `done` on stderr, status 0."""
    exchange.stdout(b"begun\n")
    exchange.stderr(b"done\n")
    exchange.exit_status(0)
    exchange.end_of_file()
    exchange.close()


class Exchange:
    """One accepted exec request: what a script uses to answer it, message by message."""

    def __init__(self, transport, channel, command):
        self._transport = transport
        self._channel = channel
        self.command = command
        self.stopped = threading.Event()

    def stdout(self, content):
        self.send(CHANNEL_DATA, content)

    def stderr(self, content):
        self.send(CHANNEL_EXTENDED_DATA, _EXTENDED_STDERR, content)

    def stdout_split(self, content, seed):
        """Sends `content` in packets of random sizes."""
        for piece in _random_pieces(content, seed):
            self.stdout(piece)

    def stderr_split(self, content, seed):
        for piece in _random_pieces(content, seed):
            self.stderr(piece)

    def within_window(self, content, extended=None):
        """Sends `content` on stdout, or as extended data of this type, no faster than the client allows."""
        while content:
            with self._channel.lock:
                # pylint: disable-next=protected-access
                size = self._channel._wait_for_send_window(min(len(content), _MAX_PACKET))
            if size == 0:
                raise EOFError("the channel was closed")
            if extended is None:
                self.stdout(content[:size])
            else:
                self.send(CHANNEL_EXTENDED_DATA, extended, content[:size])
            content = content[size:]

    def ask(self):
        """Asks the client something and waits for its answer: then it has read all that was sent before."""
        self._transport.ask()

    def exit_status(self, status):
        self.send(CHANNEL_REQUEST, "exit-status", False, status)

    def exit_signal(self, name, core_dumped=False, text=""):
        """RFC 4254 §6.10; `name` goes out as given, without `SIG` by the rules, but a server may break them."""
        self.send(CHANNEL_REQUEST, "exit-signal", False, name, core_dumped, text, "")

    def end_of_file(self):
        self.send(CHANNEL_EOF)

    def close(self):
        self.send(CHANNEL_CLOSE)
        # Else the library would answer the client's CLOSE by one of its own.
        self._channel.closed = True

    def send(self, kind, *fields):
        """Any message that begins with the channel's number."""
        self.send_raw(encode(kind, self._channel.remote_chanid, *fields))

    def send_raw(self, message):
        """A whole message; waits while keys are being exchanged."""
        self._transport._send_user_message(message)  # pylint: disable=protected-access

    def drop_connection(self):
        """Ends the TCP connection by a reset, without an SSH message."""
        reset(self._transport.wire)

    def disconnect(self):
        """Ends the TCP connection in the ordinary way, without closing the channel first."""
        self._transport.wire.shutdown(socket.SHUT_RDWR)

    def on_request(self, answer):
        """From here on, calls `answer(name, want_reply, message)` for each channel request instead of answering it."""

        def call(_, message):
            answer(message.get_text(), message.get_boolean(), message)

        table = self._transport._channel_handler_table  # pylint: disable=protected-access
        self._transport._channel_handler_table = {**table, CHANNEL_REQUEST: call}

    def accept_request(self):
        self.send(CHANNEL_SUCCESS)

    def refuse_request(self):
        self.send(CHANNEL_FAILURE)

    def hold(self):
        """Sends nothing more until the server is stopped."""
        self.stopped.wait()


class Moment:
    """The server's own message of a phase, held back: what a fault uses. What it does not send is not sent."""

    def __init__(self, transport, phase, message):
        self._transport = transport
        self.phase = phase
        self.message = message

    def answer(self):
        """Sends the message after all (at the banner: goes on)."""
        if self.message is None:
            self._transport.awaited = True
        else:
            self.send_raw(self.message)

    def send(self, kind, *fields):
        self.send_raw(encode(kind, *fields))

    def send_raw(self, message):
        """One whole message, under the keys in use."""
        self._transport.send_unhindered(message)

    def write(self, content):
        """Bytes as they are, no packet."""
        self._transport.wire.sendall(content)

    def forget(self, *phases):
        """Leaves out all messages of this phase, or of those named, and goes on with everything else."""
        self._transport.forgotten.update(phases or (self.phase,))

    def exchange_keys(self):
        """Begins a key exchange and waits until the new keys are in use; not on the connection's own thread."""
        self._transport.renegotiate_keys()

    def ask(self):
        """Asks the client something and waits for its answer: then it has read all that was sent before."""
        self._transport.ask()

    def fall_silent(self):
        """Reads on, but sends nothing more."""
        self._transport.silent = True

    def crawl(self):
        """Writes every byte of its own from now on."""
        self._transport.wire.crawling = True

    def close(self):
        self._transport.wire.shutdown(socket.SHUT_RDWR)

    def half_close(self):
        """Says that nothing more comes, and reads on."""
        self._transport.silent = True
        self._transport.wire.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self._transport.wire)

    def alive(self):
        """Whether the client is still there."""
        return self._transport.is_active()


class ScriptedServer:
    """Accepts every public key, then plays `script`.

    `accept_exec`: the answer to the exec request; "never" answers nothing at all.
    `banner_gate`: an Event that must be set before the server says a word.
    `refused_signatures`: public key algorithms that it does not accept, and announces so (RFC 8308).
    `faults`: phase → fault, each struck once a connection.
    `once`: later exec requests of a connection are refused, so that a script is played for the first alone.
    """

    address = "127.0.0.1"
    user = "alice"

    def __init__(
        self, host_key, script=None, accept_exec=True, banner_gate=None, refused_signatures=(), faults=None, once=False
    ):
        self.host_key = host_key
        self.commands = []
        self.authentications = []
        self.received = []
        self.connections = []
        self.faults = faults or {}
        self._script = script or (lambda exchange: exchange.hold())
        self._accept_exec = accept_exec
        self._banner_gate = banner_gate
        self._refused_signatures = refused_signatures
        self._once = once
        self._paramiko_key = paramiko.Ed25519Key(filename=host_key.path)
        self._stopped = threading.Event()
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
            transport.wire.close()

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
        transport = _Transport(_Wire(connection), self)
        exchanges = []
        self._live.append((transport, exchanges))
        transport.add_server_key(self._paramiko_key)
        try:
            if transport.greets():
                transport.start_server(server=_Account(self, transport, exchanges), event=threading.Event())
        except (OSError, paramiko.SSHException):
            transport.close()

    @property
    def disabled_algorithms(self):
        return {"pubkeys": list(self._refused_signatures)}

    def request_exec(self, command):
        """Records the command and says how the exec request is answered."""
        self.commands.append(command)
        if self._accept_exec == "never":
            self._stopped.wait()
        return bool(self._accept_exec) and not (self._once and len(self.commands) > 1)

    def play(self, exchange):
        try:
            self._script(exchange)
        except (OSError, EOFError, paramiko.SSHException):
            return  # The client has gone; the test judges what it reported.


class _Account(paramiko.ServerInterface):
    def __init__(self, server, transport, exchanges):
        self._server = server
        self._transport = transport
        self._exchanges = exchanges

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        self._server.authentications.append((username, key.get_name()))
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_pty_request(self, channel, term, width, height, pixelwidth, pixelheight, modes):
        return True

    def check_channel_exec_request(self, channel, command):
        if not self._server.request_exec(command):
            return False
        exchange = Exchange(self._transport, channel, command)
        self._exchanges.append(exchange)
        # The reply goes out on this thread after this function has returned, so the script needs a thread of its own.
        threading.Thread(target=self._after_reply, args=(exchange,), daemon=True).start()
        return True

    def _after_reply(self, exchange):
        self._transport.exec_answered.wait()
        self._server.play(exchange)


class _Wire:
    """The TCP connection; `crawling` makes every byte a write of its own."""

    def __init__(self, connection):
        self._connection = connection
        self.crawling = False
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, content):
        return self._connection.send(content[:1] if self.crawling else content)

    def __getattr__(self, name):
        return getattr(self._connection, name)


class _Transport(paramiko.Transport):
    """Strikes the faults, and tells when the answer to the exec request has been written."""

    def __init__(self, wire, server):
        self.wire = wire
        self.silent = False
        self.awaited = False
        self.forgotten = set()
        self.exec_answered = threading.Event()
        self._answered = threading.Event()
        self._faults = dict(server.faults)
        super().__init__(wire, disabled_algorithms=server.disabled_algorithms)
        self._record(server.received)
        # The library would close a channel whose client refuses a request.
        self._channel_handler_table = {**self._channel_handler_table, CHANNEL_FAILURE: lambda *_: None}

    def greets(self):
        """Whether the server goes on to its banner."""
        fault = self._faults.pop("banner", None)
        if fault is None:
            return True
        fault(Moment(self, "banner", None))
        return self.awaited

    def send_unhindered(self, message):
        if self.silent:
            return
        super()._send_message(message)
        if message[0] == CHANNEL_SUCCESS:
            self.exec_answered.set()

    def ask(self):
        self._answered.clear()
        self.send_unhindered(encode(GLOBAL_REQUEST, "question@example.com", True))
        self._answered.wait(timeout=10)

    def _send_user_message(self, data):
        # Struck here already, because the original holds a lock that a key exchange needs.
        if not self._struck(data):
            super()._send_user_message(data)

    def _send_message(self, data):
        if not self._struck(data):
            self.send_unhindered(_bytes_of(data))

    def _struck(self, data):
        """Whether a fault has taken the place of this message."""
        message = _bytes_of(data)
        phase = _PHASES.get(message[0])
        fault = self._faults.pop(phase, None)
        if fault is not None:
            fault(Moment(self, phase, message))
        return fault is not None or phase in self.forgotten

    def _record(self, received):
        """Keeps the number of each message that comes."""
        read = self.packetizer.read_message

        def read_message():
            kind, message = read()
            received.append(kind)
            if kind == REQUEST_FAILURE:
                self._answered.set()
            return kind, message

        self.packetizer.read_message = read_message


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


def _bytes_of(message):
    return message if isinstance(message, bytes) else message.asbytes()


def _random_pieces(content, seed):
    generator = random.Random(seed)
    at = 0
    while at < len(content):
        size = generator.choice((1, 7, 100, 4096, _MAX_PACKET))
        yield content[at : at + size]
        at += size


def reset(connection):
    """Ends a TCP connection by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # The kernel keeps the socket while another thread waits in it; this wakes that one up and sends nothing.
    connection.shutdown(socket.SHUT_RD)
    connection.close()
