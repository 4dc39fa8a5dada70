"""Every fault in every phase that a real sshd can be made to show, as docs/fault-matrix.md says."""

import os
import random
import re
import signal
import unittest

from tests.lab import eventually
from tests.lab.fault_matrix import BEFORE_THE_REQUEST, MatrixCase
from tests.lab.fault_proxy import COUNTABLE, NEVER, FaultProxy, Rule

# The numbers of the client's messages that open a phase (RFC 4253 §12, RFC 4252 §6, RFC 4254 §9).
_OPENING_MESSAGE = {"key exchange": 30, "authentication": 50, "channel open": 90, "exec request": 98}
# The packets of the server's key exchange, which has larger ones than those that `_LONG` finds.
_PLAIN_PACKETS = 3
# `begun` and `done` come in lines so long that their packets stand out; the comparison is of words.
_LONG = 600
# Behind the host key in the server's answer, and behind the length of an encrypted packet.
_SIGNATURE_AT = 150
_PAYLOAD_AT = 8

_ON_THE_WAY = {
    "silence": lambda link: link.stall("down"),
    "close": lambda link: link.cut(),
    "reset": lambda link: link.reset(),
    "garbage": lambda link: link.inject(b"\x00\x00\x00\x30" + random.Random(1).randbytes(200)),
    "huge length": lambda link: link.inject(b"\x7f\xff\xff\xff" + bytes(60)),
    "another protocol": lambda link: link.inject(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "byte by byte": lambda link: link.segment("down", 1),
}
_SIGNALS = {"killed server": signal.SIGKILL, "stopped server": signal.SIGSTOP}


def _command(marks, row):
    """Leaves a mark and does what the matrix says of its command; in `close` something keeps the output open."""
    begin = f"echo x >> {marks}; printf '%-{_LONG}s\\n' begun; "
    if row.fault in _SIGNALS:
        return begin + "sleep 600"
    end = f"printf '%-{_LONG}s\\n' done >&2; "
    return begin + end + ("sleep 600 & exit 0" if row.when == "close" and row.error != "–" else "exit 0")


# B001, B025, B027, B183, B202: each as rows of the matrix.
class SshdMatrixTest(MatrixCase):
    on = ("sshd", "both")

    @classmethod
    def prepare(cls):
        cls.server = cls.lab.server(config=(COUNTABLE,))
        cls.opening_packets = cls.count_opening_packets()
        cls.first_output = cls.find_first_output()

    @classmethod
    def trial(cls, server, port_owner):
        sshx = cls.lab.sshx()
        sshx.trust(port_owner.known_hosts_line())
        address = f"{server.user}@{port_owner.address}:{port_owner.port}"
        sshx.ok("run", f"--address={address}", "--identity", cls.lab.key().path, "--", f"printf '%-{_LONG}s\\n' begun")

    @classmethod
    def count_opening_packets(cls):
        """Phase → the number of the client's packet that opens it, from a server that logs what it receives."""
        server = cls.lab.server(config=(COUNTABLE,), log_level="DEBUG3")
        cls.trial(server, server)
        received = [int(kind) for kind in re.findall(r"receive packet: type (\d+)", server.log())]
        return {when: received.index(kind) + 1 for when, kind in _OPENING_MESSAGE.items()}

    @classmethod
    def find_first_output(cls):
        """The number of the server's packet that carries `begun`; `done` and the exit status are the next ones."""
        proxy = FaultProxy(cls.server, Rule(None, "down", packet=NEVER))
        cls.lab.adopt(proxy.stop)
        cls.trial(cls.server, proxy)
        sizes = proxy.links[0].packet_sizes("down")
        return next(number for number, size in enumerate(sizes, 1) if number > _PLAIN_PACKETS and size > _LONG)

    @classmethod
    def rule(cls, row, server):
        if row.fault in _SIGNALS:
            fault = lambda link: _signal_all(server.session_pids(), _SIGNALS[row.fault])  # noqa: E731
        elif row.fault == "flipped bit":
            at = _SIGNATURE_AT if row.when == "key exchange" else _PAYLOAD_AT
            fault = lambda link: link.flip("down", at)  # noqa: E731
        else:
            fault = _ON_THE_WAY[row.fault]
        if row.when == "banner":
            return Rule(fault, "down", byte=0)
        if row.when in cls.opening_packets:
            return Rule(fault, "up", packet=cls.opening_packets[row.when])
        return Rule(fault, "down", packet=cls.first_output + ("output", "exit", "close").index(row.when))

    @classmethod
    def configured(cls, row):
        """The server of a row that is made by configuration alone, else None."""
        if (row.when, row.fault) == ("authentication", "banner with escapes"):
            path = os.path.join(cls.lab.new_directory("b"), "banner")
            with open(path, "w", encoding="ascii") as file:
                file.write("\x1b]0;evil\x07be good\r\n")
            return cls.lab.server(config=(f"Banner {path}",))
        options = {
            ("key exchange", "refuse (algorithms)"): {"config": ("KexAlgorithms sntrup761x25519-sha512@openssh.com",)},
            ("authentication", "refuse"): {"authorized": ()},
            ("channel open", "refuse"): {"config": ("MaxSessions 0",)},
            # So little that keys are exchanged all the time.
            ("output", "new keys"): {"config": ("RekeyLimit 1K",)},
        }.get((row.when, row.fault))
        return cls.lab.server(**options) if options is not None else None

    @classmethod
    def outcome(cls, row):
        marks = os.path.join(cls.lab.new_directory("m"), "marks")
        server = cls.configured(row)
        if server is not None:
            outcome = cls.run_row(row, server, _command(marks, row))
        else:
            server = cls.lab.server(config=(COUNTABLE,)) if row.fault in _SIGNALS else cls.server
            proxy = FaultProxy(server, cls.rule(row, server))
            outcome = cls.run_row(row, proxy, _command(marks, row))
            proxy.stop()
            if len(proxy.links) != 1:
                outcome.failure = outcome.failure or AssertionError(f"{len(proxy.links)} connections were made")
        try:
            outcome.commands = _count(marks, row)
        except AssertionError as failure:
            outcome.failure = outcome.failure or failure
        return outcome


def _signal_all(pids, number):
    for pid in pids:
        os.kill(pid, number)


def _count(marks, row):
    """How often the command was begun; the server may be a little behind its client."""
    if row.when not in BEFORE_THE_REQUEST or row.exit == "0":
        eventually(lambda: os.path.exists(marks) and os.path.getsize(marks), f"the command of {row.name} was begun")
    if not os.path.exists(marks):
        return 0
    with open(marks, encoding="ascii") as file:
        return len(file.readlines())


if __name__ == "__main__":
    unittest.main()
