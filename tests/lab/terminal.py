"""A pseudo-terminal of a test's own, with `sshx` as the one program in it."""

import array
import fcntl
import os
import pty
import subprocess
import sys
import termios
import threading

from tests.lab import processes
from tests.lab.sshx import Completed

# Makes stdin the controlling terminal, which takes a session leader, and becomes the program that follows.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_LAST_WORDS = b"the-end-of-this-terminal"
_ECHO_AND_SIGNALS = termios.ICANON | termios.ECHO | termios.ISIG


class Terminal:
    """Runs `sshx` with stdin and stdout in a terminal of `rows` × `columns`; stderr is a pipe, so that it comes apart.

    Started by the constructor, ended by `wait` or `close`.
    """

    def __init__(self, sshx, *arguments, rows=24, columns=80, environment=None):
        self._sshx = sshx
        self._master, self._slave = pty.openpty()
        self._output = bytearray()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self._slave)
        self._argv = [sshx.binary, *(str(word) for word in arguments)]
        self.process = processes.start(
            [sys.executable, "-c", _TAKE_TERMINAL, *self._argv],
            stdin=self._slave,
            stdout=self._slave,
            stderr=subprocess.PIPE,
            env={**sshx.environment, "TERM": "xterm-256color", **(environment or {})},
            cwd=sshx.directory,
        )
        self._errors = bytearray()
        self._readers = [
            threading.Thread(target=self._read, args=(self._master, self._output), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr.fileno(), self._errors), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def output(self):
        """The bytes that the terminal was given to show so far."""
        return bytes(self._output)

    @property
    def errors(self):
        return bytes(self._errors)

    def wait_for(self, text):
        processes.eventually(lambda: text in self.output, f"{text!r} on the terminal of {self._argv}; {self.output!r}")

    def type(self, content):
        """Presses keys."""
        os.write(self._master, content)

    def resize(self, rows, columns):
        """Changes the size, of which the kernel tells the program in the terminal."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, array.array("H", [rows, columns, 0, 0]))

    def is_raw(self):
        return termios.tcgetattr(self._slave)[3] & _ECHO_AND_SIGNALS == 0

    def is_as_before(self):
        return termios.tcgetattr(self._slave) == self.modes

    def wait(self, timeout=60.0):
        """Waits for the program's end and returns Completed, its `out` being what the terminal was given."""
        ended = processes.ends_within(self.process, timeout)
        restored = self.is_as_before()
        self.close()
        if not ended:
            raise AssertionError(f"did not end within {timeout:.0f} s\n{self._completed(None)}")
        done = self._completed(self.process.returncode)
        self._sshx.record(done)
        if not restored:
            raise AssertionError(f"the terminal was left in another mode than it was found in\n{done}")
        return done

    def close(self):
        """Kills the program if it still runs and takes what it wrote; does nothing the second time."""
        if self._slave is None:
            return
        processes.stop(self.process)
        # Everything before these words has then been read as well.
        termios.tcsetattr(self._slave, termios.TCSANOW, self.modes)
        os.write(self._slave, _LAST_WORDS)
        for reader in self._readers:
            reader.join(timeout=30)
        os.close(self._slave)
        os.close(self._master)
        self.process.stderr.close()
        self._slave = None

    def _completed(self, code):
        return Completed(self._argv, code, self.output, self.errors)

    def _read(self, descriptor, into):
        while chunk := os.read(descriptor, 1 << 16):
            into += chunk
            if into.endswith(_LAST_WORDS):
                del into[-len(_LAST_WORDS) :]
                return
