"""The base class of tests with a scripted server."""

from tests.lab.case import LabCase
from tests.lab.scripted_server import ScriptedServer


class ScriptedCase(LabCase):
    """Scripted servers as the host `fake`."""

    def scripted(self, script=None, **options):
        """A scripted server that is trusted and is the host `fake`."""
        server = ScriptedServer(self.lab.key(name="host"), script, **options)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("fake", server, identity=self.lab.key())
        return server

    def run_fake(self, *options, **keywords):
        """`sshx run --target fake [options] --json -- work`."""
        return self.sshx.json("run", "--target", "fake", *options, "--", "work", **keywords)
