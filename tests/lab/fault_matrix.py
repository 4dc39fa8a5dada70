"""Reads docs/fault-matrix.md and runs its rows."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.lab.case import LabCase
from tests.lab.facts import stream
from tests.lab.lab import ROOT

PATH = os.path.join(ROOT, "docs", "fault-matrix.md")
BEFORE_THE_REQUEST = ("banner", "key exchange", "authentication", "channel open")
_COLUMNS = (
    "fault", "on", "phase", "completion", "executed", "error", "retry_safety", "remote_state", "exit", "output",
)  # fmt: skip
_NOTHING = "–"
_LEFT_OPEN = "output still open"
_EXECUTED = {"true": True, "false": False, "null": None}
# Runs mostly wait for a deadline, so several of them go at once.
_AT_ONCE = 4
# Far above what a run may wait for: it only keeps a hang from stopping the tests.
_HANG_SECONDS = 40


@dataclass(frozen=True)
class Row:
    """One row; `when` is the phase of its table."""

    when: str
    fault: str
    on: str
    phase: str
    completion: str
    executed: str
    error: str
    retry_safety: str
    remote_state: str
    exit: str
    output: str

    @property
    def name(self):
        return re.sub(r"\W+", "_", f"{self.when} {self.fault}").strip("_")

    @property
    def options(self):
        """A deadline is short where the row waits for it, else long, so that a busy machine changes no outcome."""
        connect = "2s" if self.error in ("connect/timeout", "connect/not_ssh") else "30s"
        command = "2s" if self.error == "timeout/command" else "60s"
        interval, count = ("2s", "1") if self.error == "connection_lost/silent" else ("60s", "3")
        return (
            "--connect-timeout", connect, "--timeout", command,
            "--server-alive-interval", interval, "--server-alive-count-max", count,
        )  # fmt: skip

    @property
    def fields(self):
        """The fields of the result that the row names."""
        kind, code = (None, None) if self.error == _NOTHING else self.error.split("/")
        fields = {
            "phase": self.phase,
            "completion": self.completion,
            "executed": _EXECUTED[self.executed],
            "remote_state": self.remote_state,
            "error_kind": kind,
            "success": kind is None,
        }
        if kind is not None:
            fields |= {"error__code": code, "error__retry_safety": self.retry_safety}
        if kind not in (None, "remote_exit"):
            fields["exit_code"] = -1
        return fields

    @property
    def left_open(self):
        return _LEFT_OPEN in self.output

    @property
    def words(self):
        return [word for word in ("begun", "done") if word in self.output.split()]


@dataclass
class Outcome:
    """What a row's run gave: the document, or why there is none, and the user's commands that the server got."""

    sshx: object
    document: dict = None
    failure: Exception = None
    commands: int = 0
    received: tuple = ()


def read_rows():
    """All rows of docs/fault-matrix.md."""
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    found = []
    for when, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        head, _, *lines = [_cells(line) for line in body.splitlines() if line.startswith("|")]
        if head != _COLUMNS:
            raise AssertionError(f"the table of {when!r} has the columns {head}")
        found += [Row(when, *cells) for cells in lines]
    return found


class MatrixCase(LabCase):
    """Runs the rows that `on` names, all before the first test, and checks each in a test of its own."""

    on = ()
    outcomes = {}

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        for row in cls.rows():
            setattr(cls, f"test_{row.name}", lambda self, row=row: self.check(row))

    @classmethod
    def rows(cls):
        return [row for row in read_rows() if row.on in cls.on]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prepare()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            cls.outcomes = dict(zip([row.name for row in cls.rows()], pool.map(cls.outcome, cls.rows())))

    @classmethod
    def prepare(cls):
        """Starts what all rows share."""

    @classmethod
    def outcome(cls, row):
        """Runs one row; called on several threads."""
        raise NotImplementedError

    @classmethod
    def run_row(cls, row, server, command):
        """`sshx run` on a server (address, port, user, known_hosts_line); the Outcome without what the server knows."""
        sshx = cls.lab.sshx()
        sshx.trust(server.known_hosts_line())
        address = f"{server.user}@{server.address}:{server.port}"
        words = ("run", f"--address={address}", "--identity", cls.lab.key().path, *row.options, "--", command)
        try:
            return Outcome(sshx, sshx.json(*words, timeout=_HANG_SECONDS))
        except AssertionError as failure:
            return Outcome(sshx, failure=failure)

    def check(self, row):
        outcome = self.outcomes[row.name]
        self.sshx = outcome.sshx
        if outcome.failure:
            raise outcome.failure
        document = outcome.document
        self.assert_fields(document, audit_status="written", **row.fields)
        self.assertEqual(self.sshx.history[-1].code, int(row.exit))
        self.assertEqual((stream(document, "stdout") + stream(document, "stderr")).decode().split(), row.words)
        self.assertEqual(_LEFT_OPEN in document["warnings"], row.left_open, document["warnings"])
        self.assertEqual(document["change_state"], "unchanged" if row.executed == "false" else "unknown")
        self.assertEqual(outcome.commands, 0 if row.when in BEFORE_THE_REQUEST and row.exit != "0" else 1)
        if document["error"]:
            self.assertNotRegex(document["error"]["message"], "[\x00-\x1f\x7f]")


def _cells(line):
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
