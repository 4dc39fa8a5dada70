"""Every fault in every phase, as docs/fault-matrix.md says, on the scripted server."""

import unittest

from tests.lab import eventually
from tests.lab.fault_matrix import MatrixCase, read_rows
from tests.lab.scripted_faults import FAREWELL, FAULTS, fault_named
from tests.lab.scripted_server import CHANNEL_FAILURE, REQUEST_FAILURE, ScriptedServer, work

# What a client has to say to a request that it does not know (RFC 4254 §4, §5.4).
_REPLIES = {"unknown global request": REQUEST_FAILURE, "unknown channel request": CHANNEL_FAILURE}


# B001, B002, B003, B021, B023, B026, B027, B094, B183, B202: each as rows of the matrix.
class ScriptedMatrixTest(MatrixCase):
    on = ("scripted", "both")

    @classmethod
    def outcome(cls, row):
        when = "negotiation" if row.fault == "refuse (algorithms)" else row.when
        server = ScriptedServer(
            cls.lab.key(name="host"), work, faults={when: fault_named(row.fault, row.when)}, once=True
        )
        try:
            outcome = cls.run_row(row, server, "work")
            if row.fault in _REPLIES:
                # sshx may be gone before the server has read its last words.
                eventually(lambda: _REPLIES[row.fault] in server.received, "the server has read the reply")
        finally:
            server.stop()
        outcome.commands = server.commands.count(b"work")
        return outcome

    def check(self, row):
        super().check(row)
        outcome = self.outcomes[row.name]
        if "disconnect" in row.fault:
            self.assert_mentions(outcome.document["error"]["message"], FAREWELL)


class TableTest(unittest.TestCase):
    def test_every_fault_has_a_row_and_every_row_a_fault(self):
        named = {row.fault for row in read_rows() if row.on != "sshd"}
        self.assertEqual(named, set(FAULTS))

    def test_rows_differ_in_phase_or_fault(self):
        names = [row.name for row in read_rows()]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
