"""A TCP relay in front of a real server, which does to a connection what networks do.

A fault is a function of a `Link`. It strikes before a byte or right after a packet of one direction, or when the test
says so (`FaultProxy.strike`). Directions: "up" is from the client to the server, "down" the other way.
"""

import socket
import threading

from tests.lab.scripted_server import reset

DIRECTIONS = ("up", "down")
_CHUNK = 1 << 16
_NEWKEYS = 21
# The lengths of packets stand in the clear with AES-GCM, whose tag has 16 bytes: a server in whose connections packets
# are counted has to be limited to it.
_TAG = 16
COUNTABLE = "Ciphers aes256-gcm@openssh.com"


class PacketCounter:
    """Cuts one direction's bytes where an SSH packet ends (RFC 4253 §6, RFC 5647 §7.2)."""

    def __init__(self):
        self.sizes = []
        self._pending = b""
        self._encrypted = False
        self._greeted = False

    def pieces(self, chunk):
        """Pairs of bytes to pass on and the number of the packet that they complete, None for a part of one."""
        self._pending += chunk
        while size := self._complete():
            piece, self._pending = self._pending[:size], self._pending[size:]
            if not self._greeted:
                self._greeted = True
                yield piece, None
                continue
            self.sizes.append(size)
            self._encrypted = self._encrypted or piece[5] == _NEWKEYS
            yield piece, len(self.sizes)

    def take_rest(self):
        """What has come of a packet that is not whole; counting ends here."""
        rest, self._pending = self._pending, b""
        return rest

    def _complete(self):
        """The size of the packet at the front, 0 when it is not whole."""
        if not self._greeted:
            return self._pending.find(b"\n") + 1
        size = 4 + int.from_bytes(self._pending[:4], "big") + (_TAG if self._encrypted else 0)
        return size if 4 < size <= len(self._pending) else 0


class Link:
    """One relayed connection."""

    def __init__(self, client, server, rules):
        self.passed = {"up": 0, "down": 0}
        self._sockets = {"up": (client, server), "down": (server, client)}
        self._client = client
        self._server = server
        self._rules = list(rules)
        self._open = {direction: threading.Event() for direction in DIRECTIONS}
        self._flips = {"up": [], "down": []}
        self._segment = {"up": 0, "down": 0}
        self._latency = {"up": 0.0, "down": 0.0}
        # What comes back must not overtake the fault that a packet of the other direction has called for.
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._counters = {direction: PacketCounter() for direction in DIRECTIONS}
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for direction in DIRECTIONS:
            self._open[direction].set()
            threading.Thread(target=self._pump, args=(direction,), daemon=True).start()

    def stall(self, *directions):
        """Passes nothing on until `resume`; the connection stays open."""
        for direction in directions or DIRECTIONS:
            self._open[direction].clear()

    def resume(self):
        for direction in DIRECTIONS:
            self._open[direction].set()

    @property
    def stalled(self):
        return not all(event.is_set() for event in self._open.values())

    def flip(self, direction, skip=0):
        """Flips a bit of the byte that comes after the next `skip` ones."""
        self._flips[direction].append(self.passed[direction] + skip)

    def segment(self, direction, size):
        """From now on every `size` bytes are a segment of their own."""
        self._segment[direction] = size

    def slow(self, direction, seconds):
        """From now on everything comes later by so much."""
        self._latency[direction] = seconds

    def cut(self):
        """Ends the connection in the ordinary way, to both sides; what the server still says is not passed on."""
        self._ended.set()
        _quietly(self._client.shutdown, socket.SHUT_RDWR)
        _quietly(self._server.shutdown, socket.SHUT_WR)

    def reset(self):
        """Ends the client's side by a reset; the server has got everything and sees an ordinary end."""
        self._ended.set()
        _quietly(reset, self._client)
        _quietly(self._server.shutdown, socket.SHUT_WR)

    def inject(self, content):
        """Gives the client bytes that the server has not sent, and nothing else any more."""
        self._ended.set()
        _quietly(self._client.sendall, content)
        _quietly(self._client.shutdown, socket.SHUT_WR)

    def strike(self, fault):
        with self._lock:
            fault(self)

    def close(self):
        self._ended.set()
        self.resume()
        for end in (self._client, self._server):
            _quietly(end.shutdown, socket.SHUT_RDWR)
            end.close()

    def _pump(self, direction):
        source, sink = self._sockets[direction]
        try:
            while chunk := source.recv(_CHUNK):
                self._pass(direction, chunk)
            if not self._ended.is_set():
                self._open[direction].wait()
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            # A server that dies resets or closes, as it happens; its client sees the same in both cases.
            if not self._ended.is_set():
                self.cut()

    def _pass(self, direction, chunk):
        """Packet by packet while one of them is waited for, else as it comes."""
        counter = self._counters[direction]
        if not any(rule.packet and rule.direction == direction for rule in self._rules):
            self._pass_on(direction, counter.take_rest() + chunk)
            return
        for piece, number in counter.pieces(chunk):
            due = self._due(lambda rule, whole=number: whole and rule.direction == direction and rule.met(counter.sizes))
            if not due:
                self._pass_on(direction, piece)
                continue
            with self._lock:
                self._pass_on(direction, piece)
                for rule in due:
                    rule.fault(self)

    def _pass_on(self, direction, chunk):
        if self._latency[direction]:
            self._ended.wait(self._latency[direction])
        while chunk and not self._ended.is_set():
            with self._lock:
                at = self.passed[direction]
                for rule in self._due(lambda rule, at=at: (rule.direction, rule.byte) == (direction, at)):
                    rule.fault(self)
                piece = chunk[: self._until_next_rule(direction, len(chunk))]
                stalled = not self._open[direction].is_set()
                if not stalled:
                    self._send(direction, piece)
                    chunk = chunk[len(piece) :]
            # Outside of the lock, or a test could not resume what it has stalled.
            self._open[direction].wait()

    def _due(self, is_due):
        due = [rule for rule in self._rules if is_due(rule)]
        self._rules = [rule for rule in self._rules if rule not in due]
        return due

    def _until_next_rule(self, direction, size):
        rules = [rule for rule in self._rules if rule.direction == direction and rule.byte is not None]
        ahead = [rule.byte - self.passed[direction] for rule in rules]
        return min([size, *(distance for distance in ahead if distance > 0)])

    def _send(self, direction, piece):
        if self._ended.is_set():
            return
        sink = self._sockets[direction][1]
        piece = self._flipped(direction, piece)
        step = self._segment[direction] or len(piece)
        for at in range(0, len(piece), step):
            sink.sendall(piece[at : at + step])
        self.passed[direction] += len(piece)

    def _flipped(self, direction, piece):
        changed = bytearray(piece)
        for position in list(self._flips[direction]):
            at = position - self.passed[direction]
            if 0 <= at < len(changed):
                changed[at] ^= 1
                self._flips[direction].remove(position)
        return bytes(changed)


class Rule:
    """When a fault strikes: before byte `byte` of `direction` goes on, or right after a packet of it has.

    `packet` is the number of the packet, or says by the sizes of all packets so far whether the last one was it.
    """

    def __init__(self, fault, direction, byte=None, packet=None):
        self.fault = fault
        self.direction = direction
        self.byte = byte
        self.packet = packet

    def met(self, sizes):
        """Whether the last one of these packets is the one that was waited for."""
        if self.packet is None:
            return False
        return self.packet(sizes) if callable(self.packet) else self.packet == len(sizes)


class FaultProxy:
    """Listens on a free loopback port and relays to `server`; ready when the constructor returns, ended by `stop`."""

    address = "127.0.0.1"

    def __init__(self, server, *rules):
        self.links = []
        self.user = server.user
        self._server = server
        self._rules = rules
        self._listener = socket.create_server((self.address, 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def known_hosts_line(self):
        """The real server's host key, under the proxy's port."""
        return f"[{self.address}]:{self.port} {self._server.known_hosts_line().split(' ', 1)[1]}"

    def strike(self, fault):
        """Strikes every connection there is, now."""
        for link in list(self.links):
            link.strike(fault)

    def passed(self, direction):
        """How many bytes went on in this direction, over all connections."""
        return sum(link.passed[direction] for link in self.links)

    def stop(self):
        self._listener.close()
        for link in self.links:
            link.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                upstream = socket.create_connection((self._server.address, self._server.port))
            except OSError:
                client.close()
                continue
            self.links.append(Link(client, upstream, self._rules))


def _quietly(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        return  # Gone already: that is what was wanted.
