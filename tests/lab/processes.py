"""Child processes that cannot outlive the test, and waiting for a condition instead of for a time."""

import os
import select
import signal
import subprocess
import time

# The kernel kills the child when the test is gone, even by SIGKILL. Not a preexec_fn, because tests use threads.
_BOUND_TO_PARENT = ("/usr/bin/setpriv", "--pdeathsig", "KILL", "--")


def start(argv, **options):
    """Starts `argv` in a process group of its own, bound to this process's life."""
    return subprocess.Popen([*_BOUND_TO_PARENT, *argv], start_new_session=True, **options)


def stop(process):
    """Kills the whole process group of `process` and reaps it; does nothing when it has ended."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def descendants(pid):
    """Ids of all live descendants of `pid`, parents before children."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            parent = _parent_of(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(0), []):
            found.append(child)
            queue.append(child)
    return found


def with_environment(marker):
    """Ids of all processes whose initial environment holds `marker` (bytes, `NAME=value`)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environment:
                if marker in environment.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found


def kill_all(pids):
    """Sends SIGKILL to each process that is still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def is_running(pid):
    """Whether `pid` exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def ends_within(process, timeout):
    """Waits for a child of ours, leaving it for others to reap; whether it ended within `timeout` seconds."""
    descriptor = os.pidfd_open(process.pid)
    try:
        ended, _, _ = select.select([descriptor], [], [], timeout)
    finally:
        os.close(descriptor)
    return bool(ended)


def eventually(condition, what, timeout=30.0):
    """Polls `condition` until it returns something true and returns that; AssertionError after `timeout` s."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout:.0f} s in vain: {what}")
        time.sleep(0.02)


def _parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            # The name in parentheses may itself hold blanks and parentheses.
            return int(stat.read().rsplit(b")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return None
