"""One scratch directory with everything that a test class starts in it."""

import os
import shutil
import tempfile

from tests.lab.agent import Agent
from tests.lab.documents import Documents
from tests.lab.keys import generate_key
from tests.lab.server import Server, ServerOptions
from tests.lab.sshx import Sshx


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTRACT = os.path.join(ROOT, "docs", "contract.md")


def load_documents():
    """Schemas from SSHX_SCHEMAS, else the repository's; error codes from docs/contract.md."""
    folder = os.environ.get("SSHX_SCHEMAS") or os.path.join(ROOT, "schemas", "documents")
    return Documents(folder, CONTRACT)


class Lab:
    """Makes keys, servers, agents and isolated `sshx` homes; `close` ends and removes all of them."""

    def __init__(self):
        # Short and in /tmp, because an agent's socket path may have 107 bytes at most.
        self.directory = tempfile.mkdtemp(prefix="sshx-lab-", dir="/tmp")
        self.documents = load_documents()
        self.servers = []
        self._closers = []
        self._keys = {}
        self._count = 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def new_directory(self, prefix):
        """A fresh, empty directory of mode 0700."""
        self._count += 1
        path = self.path(f"{prefix}{self._count}")
        os.mkdir(path, mode=0o700)
        return path

    def key(self, kind="ed25519", key_format="openssh", passphrase="", name="key"):
        """A key; asking again with the same arguments gives the same key."""
        wanted = (kind, key_format, passphrase, name)
        if wanted not in self._keys:
            directory = self.new_directory("k")
            self._keys[wanted] = generate_key(os.path.join(directory, name), kind, key_format, passphrase)
        return self._keys[wanted]

    def server(self, **options):
        """A running sshd with ServerOptions(**options); by default the lab's ed25519 key may log in."""
        options.setdefault("authorized", (self.key(),))
        server = Server(self.new_directory("d"), ServerOptions(**options))
        self.servers.append(server)
        self._closers.append(server.stop)
        return server

    def agent(self, *keys):
        """A running ssh-agent that holds `keys`."""
        agent = Agent(os.path.join(self.new_directory("a"), "s"), keys)
        self._closers.append(agent.stop)
        return agent

    def sshx(self):
        """`sshx` with a fresh home."""
        return Sshx(self.new_directory("x"), self.documents)

    def adopt(self, closer):
        """Calls `closer` at the end."""
        self._closers.append(closer)

    def close(self):
        for closer in reversed(self._closers):
            closer()
        self._closers.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
