"""A library that prints on stdout at any time (B140): its words reach stderr, and every answer stays whole."""

import os
import subprocess
import textwrap
import unittest

from tests.lab import TargetCase, processes
from tests.lab.mcp import McpClient

_NOISE = b"noise of a library"
# It speaks while the program runs, without a flush too, and at the end.
_SOURCE = """
    #include <stdio.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static void noise(void) { puts("noise of a library"); }
    pid_t getpid(void) {
      static int calls;
      if (calls++ < 3) noise();
      if (calls == 2) fflush(stdout);
      return (pid_t)syscall(SYS_getpid);
    }
    __attribute__((destructor)) static void last(void) { noise(); fflush(stdout); }
    """


class NoisyLibraryTest(TargetCase):
    def setUp(self):
        super().setUp()
        folder = self.lab.new_directory("l")
        source, library = os.path.join(folder, "noise.c"), os.path.join(folder, "noise.so")
        with open(source, "w", encoding="ascii") as file:
            file.write(textwrap.dedent(_SOURCE))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        self.noisy = {"LD_PRELOAD": f"{self._sanitizer()}{library}"}

    def _sanitizer(self):
        """The sanitizer's runtime, which insists on being loaded first, followed by a colon; empty without one."""
        linked = subprocess.run(["ldd", self.sshx.binary], capture_output=True, text=True, check=True).stdout
        runtimes = [line.split()[2] for line in linked.splitlines() if "libasan" in line or "libtsan" in line]
        return "".join(f"{path}:" for path in runtimes)

    def test_a_document_stands_alone_on_stdout(self):
        done = self.sshx.run("run", "--target", "target", "--json", "--", "echo out", environment=self.noisy)
        self.assertEqual(self.sshx.document(done)["stdout"], "out\n")
        self.assertIn(_NOISE, done.err)

    def test_an_mcp_stream_and_its_children_carry_nothing_else(self):
        client = McpClient(self.sshx, environment=self.noisy)
        self.addCleanup(processes.stop, client.running.process)
        self.assertEqual(client.tool("sshx_run", targets=["target"], command="echo out")[0]["stdout"], "out\n")
        done = client.close()
        self.assertEqual(done.code, 0)
        self.assertIn(_NOISE, done.err)
        self.assertEqual(len(client.messages()), 2)
        self.assertTrue(done.out.endswith(b"\n"))


if __name__ == "__main__":
    unittest.main()
