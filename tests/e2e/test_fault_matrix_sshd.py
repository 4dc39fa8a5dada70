"""Every fault in every phase that a real sshd can be made to show, as docs/fault-matrix.md says."""

import os
import random
import re
import signal
import unittest

from tests.lab import eventually
from tests.lab.fault_matrix import BEFORE_THE_REQUEST, MatrixCase
from tests.lab.fault_proxy import COUNTABLE, FaultProxy, Rule

# The numbers of the client's messages that open a phase (RFC 4253 §12, RFC 4252 §6, RFC 4254 §9).
_OPENING_MESSAGE = {"key exchange": 30, "authentication": 50, "channel open": 90, "exec request": 98}
# The packets of the key exchange, which are not the long ones that are looked for.
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


def _long_packets(sizes):
    return sum(size > _LONG for size in sizes[_PLAIN_PACKETS:])


def _after_long(count):
    """Right behind the long packet of this number."""
    return lambda sizes: sizes[-1] > _LONG and _long_packets(sizes) == count


def _behind_all_output(sizes):
    return sizes[-1] <= _LONG and _long_packets(sizes) == 2


def _command(row, marks, gate):
    """Leaves a mark and does what the matrix says of its command, but not more than the row's fault may see.

    sshd tells the exit status as soon as the child is gone, before the output that it still has. So the child stays at
    the gate, which opens when the output of the row's phase has passed, or never.
    """
    begin = f"echo x >> {marks}; printf '%-{_LONG}s\\n' begun; "
    end = f"printf '%-{_LONG}s\\n' done >&2; "
    wait = f"read x < {gate}; "
    if row.when == "output" and row.exit != "0":
        return begin + wait + end + "exit 0"
    if row.when == "exit" and row.exit != "0":
        return begin + end + wait + "exit 0"
    if row.when == "close":
        # In `byte by byte` the output has to end; in all others something keeps it open.
        return begin + end + wait + ("exit 0" if row.fault == "byte by byte" else "sleep 600 & exit 0")
    return begin + end + "exit 0"


# B001, B025, B027, B183, B202: each as rows of the matrix.
class SshdMatrixTest(MatrixCase):
    on = ("sshd", "both")

    @classmethod
    def prepare(cls):
        cls.server = cls.lab.server(config=(COUNTABLE,))
        cls.opening_packets = cls.count_opening_packets()

    @classmethod
    def count_opening_packets(cls):
        """Phase → the number of the client's packet that opens it, from a server that logs what it receives."""
        server = cls.lab.server(config=(COUNTABLE,), log_level="DEBUG3")
        sshx = cls.lab.sshx()
        sshx.trust(server.known_hosts_line())
        sshx.ok("run", f"--address={server.user}@{server.endpoint}", "--identity", cls.lab.key().path, "--", "true")
        received = [int(kind) for kind in re.findall(r"receive packet: type (\d+)", server.log())]
        return {when: received.index(kind) + 1 for when, kind in _OPENING_MESSAGE.items()}

    @classmethod
    def fault(cls, row, server, gate):
        if row.fault in _SIGNALS:
            return lambda link: _signal_all(server.session_pids(), _SIGNALS[row.fault])
        if row.fault == "flipped bit":
            return lambda link: _flip_next_packet(link, row, gate)
        return _ON_THE_WAY[row.fault]

    @classmethod
    def rules(cls, row, server, gate):
        fault = cls.fault(row, server, gate)
        if row.when == "banner":
            return [Rule(fault, "down", byte=0)]
        if row.when in cls.opening_packets:
            return [Rule(fault, "up", packet=cls.opening_packets[row.when])]
        if row.when == "close":
            opening = Rule(lambda link: _open(gate), "down", packet=_after_long(2))
            return [opening, Rule(fault, "down", packet=_behind_all_output)]
        return [Rule(fault, "down", packet=_after_long(1 if row.when == "output" else 2))]

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
        directory = cls.lab.new_directory("m")
        marks, gate = os.path.join(directory, "marks"), os.path.join(directory, "gate")
        os.mkfifo(gate)
        command = _command(row, marks, gate)
        server = cls.configured(row)
        if server is not None:
            outcome = cls.run_row(row, server, command)
        else:
            server = cls.lab.server(config=(COUNTABLE,)) if row.fault in _SIGNALS else cls.server
            proxy = FaultProxy(server, *cls.rules(row, server, gate))
            outcome = cls.run_row(row, proxy, command)
            proxy.stop()
            if len(proxy.links) != 1:
                outcome.failure = outcome.failure or AssertionError(f"{len(proxy.links)} connections were made")
        try:
            outcome.commands = _count(marks, row)
        except AssertionError as failure:
            outcome.failure = outcome.failure or failure
        return outcome


def _flip_next_packet(link, row, gate):
    link.flip("down", _SIGNATURE_AT if row.when == "key exchange" else _PAYLOAD_AT)
    if row.when in ("output", "exit"):
        _open(gate)


def _open(gate):
    with open(gate, "w", encoding="ascii") as file:
        file.write("now\n")


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
