"""A real ssh-agent on a private socket."""

import os
import socket
import subprocess

from tests.lab import processes


class Agent:
    """Started by the constructor, ended by `stop`; `socket` is what SSH_AUTH_SOCK must be set to."""

    def __init__(self, path, keys=()):
        self.socket = path
        self._process = processes.start(
            # ssh-agent is set-group-id in Debian, and such a program would forget that it is bound to its parent.
            ["/usr/bin/setpriv", "--no-new-privs", "--", "ssh-agent", "-D", "-a", path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        processes.eventually(self._answers, "ssh-agent listens on its socket")
        for key in keys:
            self.add(key)

    def add(self, key, *options):
        """Loads a key with ssh-add's `options`; the agent offers keys in the order of loading."""
        subprocess.run(
            ["ssh-add", "-q", *options, key.path],
            check=True,
            env={**os.environ, "SSH_AUTH_SOCK": self.socket},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _answers(self):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    def stop(self):
        processes.stop(self._process)
