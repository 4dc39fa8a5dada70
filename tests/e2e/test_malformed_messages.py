"""A server whose messages are cut short or lie about their lengths: no crash, and no word that is not so."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.lab import LabCase
from tests.lab.scripted_server import ScriptedServer, work

_LIES = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x01\x00\x00")
_AT_ONCE = 4
_FURTHEST = 60
_OPTIONS = (
    "--connect-timeout", "2s", "--timeout", "2s", "--server-alive-interval", "2s", "--server-alive-count-max", "1",
)  # fmt: skip


def _cut_short(size):
    return lambda message: message[:size]


def _lie(at, lie):
    return lambda message: message[:at] + lie + message[at + 4 :]


def _changes():
    """Name → change of a message. What is beyond the end of a message leaves it as it is, or makes it longer."""
    changes = {f"cut to {size}": _cut_short(size) for size in (*range(1, 30, 2), *range(30, _FURTHEST, 6))}
    for number, at in enumerate(range(1, _FURTHEST, 4)):
        lie = _LIES[number % len(_LIES)]
        changes[f"{lie.hex()} at {at}"] = _lie(at, lie)
        changes[f"ffffffff at {at}"] = _lie(at, _LIES[0])
    return changes


class MalformedMessageTest(LabCase):
    def strike(self, phase, change):
        """Runs `work` on a server that sends the message of a phase changed; the document and the server."""

        def fault(moment):
            moment.send_raw(change(moment.message))

        server = ScriptedServer(self.lab.key(name="host"), work, faults={phase: fault}, once=True)
        sshx = self.lab.sshx()
        sshx.trust(server.known_hosts_line())
        address = f"{server.user}@{server.address}:{server.port}"
        try:
            done = sshx.run(
                "run", f"--address={address}", "--identity", self.lab.key().path, *_OPTIONS, "--json", "--", "work"
            )
            return sshx.document(done), server
        finally:
            server.stop()

    def assert_true(self, document, server):
        if document["executed"] is False:
            self.assertNotIn(b"work", server.commands)
        if document["error"] is not None and document["error_kind"] != "remote_exit":
            self.assert_fields(document, exit_code=-1, success=False)
            self.assertNotIn(document["error_kind"], ("internal", "config", "local_io"))
        self.assertLessEqual(server.commands.count(b"work"), 1)
        self.assertTrue(b"begun\n".startswith(document["stdout"].encode()[:6]))

    def sweep(self, phase):
        changes = _changes()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            running = {name: pool.submit(self.strike, phase, change) for name, change in changes.items()}
        for name, future in running.items():
            with self.subTest(name):
                document, server = future.result()
                self.assert_true(document, server)


for _phase in ("key exchange", "authentication", "channel open", "exec request", "output", "exit"):
    setattr(
        MalformedMessageTest, f"test_{_phase.replace(' ', '_')}", lambda self, phase=_phase: self.sweep(phase)
    )


if __name__ == "__main__":
    unittest.main()
