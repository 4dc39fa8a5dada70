"""Stands between an MCP client and its server, and writes down every line that either says.

usage: tee.py FOLDER PROGRAM [ARGUMENT...]

One file a process in FOLDER, one JSON object a line: {"from": "client" or "server", "text": the line with its end,
"is_utf8"}, and at last {"from": "tee", "status": how the server ended, "is_terminated": whether SIGTERM came first}. A line is
on record before the other side has it, so the order is one that could have been seen. End of file, SIGTERM and the exit
status are passed on.
"""

import json
import os
import signal
import subprocess
import sys
import threading


class Record:
    def __init__(self, folder):
        self._file = open(os.path.join(folder, f"{os.getpid()}.jsonl"), "w", encoding="ascii")
        self._lock = threading.Lock()

    def line(self, sender, line):
        try:
            self.write({"from": sender, "text": line.decode("utf-8"), "is_utf8": True})
        except UnicodeDecodeError:
            self.write({"from": sender, "text": line.decode("utf-8", "replace"), "is_utf8": False})

    def write(self, entry):
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()


def copy(source, sink, sender, record):
    """Line by line to the end of `source`, then `sink` ends too; what a sink that went away was not told is still on record."""
    for line in source:
        record.line(sender, line)
        try:
            sink.write(line)
            sink.flush()
        except BrokenPipeError:
            continue
    try:
        sink.close()
    except BrokenPipeError:
        pass


def main(folder, argv):
    record = Record(folder)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        is_terminated = False

        def terminate(*_):
            nonlocal is_terminated
            is_terminated = True
            server.terminate()

        signal.signal(signal.SIGTERM, terminate)
        # The client may never close its end; what it would still say is nothing to wait for.
        threading.Thread(
            target=copy, args=(sys.stdin.buffer, server.stdin, "client", record), daemon=True
        ).start()
        copy(server.stdout, sys.stdout.buffer, "server", record)
        status = server.wait()
        record.write({"from": "tee", "status": status, "is_terminated": is_terminated})
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    # A thread that still reads stdin would make the interpreter's own end a crash.
    os._exit(main(sys.argv[1], sys.argv[2:]))
