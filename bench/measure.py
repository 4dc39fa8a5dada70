"""What the benches have in common: a program is run with its output in a file, and what it took is known afterwards."""

import os
import time
from dataclasses import dataclass

MEBIBYTE = 1 << 20
_SAMPLE_SECONDS = 0.02


@dataclass
class Usage:
    """What one run took, of the program and what it waited for: seconds, and bytes at its peak; apart, CPU of the server."""

    wall: float
    cpu: float
    peak: float
    server: float = 0


def run_once(argv, environment, output, is_watched=False):
    """Runs `argv` with its streams in the files `output` and `output`.err; Usage, or an AssertionError when it failed.

    The peak is that of the program itself, and 0 where it was not watched.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, f"{output}.err", flags, 0o600),
    ]
    started = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions)
    status, used, peak = _watch(pid) if is_watched else (*os.wait4(pid, 0)[1:], 0)
    wall = time.monotonic() - started
    if status != 0:
        with open(f"{output}.err", encoding="utf-8", errors="replace") as file:
            raise AssertionError(f"{argv} ended with {os.waitstatus_to_exitcode(status)}: {file.read()}")
    return Usage(wall, used.ru_utime + used.ru_stime, peak)


def _watch(pid):
    """The status and the usage of a process that has ended, and the most memory that it was seen to hold.

    What wait4 tells of memory begins with what this very script holds, which is more than is measured.
    """
    peak = 0
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            return status, used, peak
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            sizes = [int(line.split()[1]) for line in file if line.startswith("VmHWM:")]
        peak = max([peak, *(size * 1024 for size in sizes)])
        time.sleep(_SAMPLE_SECONDS)


def shown(measure, value):
    """A value of that field of Usage for people."""
    return f"{value / MEBIBYTE:7.1f} MiB" if measure == "peak" else f"{value * 1000:8.2f} ms"
