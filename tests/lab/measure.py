"""What a run costs, as the kernel counts it."""

import os
import sys

from tests.lab.sshx import binary_path

# Runs argv[2:] and writes the most memory that it held, in KiB, to the file argv[1].
_SCRIPT = """
import os, resource, sys
code = os.spawnv(os.P_WAIT, sys.argv[2], sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
os._exit(code)
"""


def is_instrumented():
    """Whether the binary is a sanitizer build, whose memory says nothing."""
    with open(binary_path(), "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


class PeakMemory:
    """`prefix` makes `Sshx.start` measure a run; `kib()` is what it took at its peak."""

    def __init__(self, directory):
        self._path = os.path.join(directory, "peak")
        self.prefix = (sys.executable, "-I", "-c", _SCRIPT, self._path)

    def kib(self):
        with open(self._path, encoding="ascii") as file:
            return int(file.read())
