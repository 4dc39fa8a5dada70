"""Sessions of the official MCP clients with `sshx mcp`, every frame of them on record and judged."""

import glob
import json
import os
import subprocess
import sys
import uuid

from tests.lab import processes
from tests.lab.sshx import Completed

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PROGRAMS = os.path.join(_ROOT, "tests", "mcp")


def clients_folder():
    """Where scripts/install-mcp-clients put the clients: SSHX_MCP_CLIENTS, else build/mcp-clients."""
    return os.environ.get("SSHX_MCP_CLIENTS") or os.path.join(_ROOT, "build", "mcp-clients")


def run_node(program, *arguments, text=""):
    """Runs a program of tests/mcp with the Node.js that came with the clients; Completed."""
    found = glob.glob(os.path.join(clients_folder(), "node_modules", "node-linux-*", "bin", "node"))
    if not found:
        raise AssertionError(f"no MCP clients in {clients_folder()}: run scripts/install-mcp-clients")
    argv = [found[0], os.path.join(_PROGRAMS, program), *arguments]
    # What a client leaves to its servers from its own environment is little; this is all of it.
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "SSHX_MCP_CLIENTS": clients_folder()}
    process = processes.start(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    try:
        out, err = process.communicate(text.encode("utf-8"), timeout=180)
    finally:
        processes.stop(process)
    return Completed(argv, process.returncode, out, err)


def judge(*files):
    """What check_frames.mjs says of recorded frames."""
    done = run_node("check_frames.mjs", *files)
    if done.code != 0:
        raise AssertionError(f"the frames could not be judged\n{done}")
    return json.loads(done.out)


class Session:
    """One session from its start to the end of its server.

    `steps`: one entry a step of the scenario; `negotiated`: the revision, where the client tells; `errors`: what its
    onerror got; `frames`: the session's messages as (sender, object), in order; `end`: how its server ended, as tee.py has
    it; `probes`: how many servers were only asked what they are; `verdict`: of `judge`, over all of them; `left`: the
    processes that outlived it.
    """

    def __init__(self, sshx, folder, mode, steps, arguments=(), environment=None):
        mark = f"SSHX_MCP_SESSION={uuid.uuid4().hex}"
        tee = os.path.join(_PROGRAMS, "tee.py")
        scenario = {
            "mode": mode,
            "steps": steps,
            "server": {
                "command": sys.executable,
                "args": ["-B", tee, folder, sshx.binary, "mcp", *arguments],
                "env": dict([*(environment or sshx.environment).items(), mark.split("=")]),
                "cwd": sshx.directory,
            },
        }
        done = run_node("session.mjs", text=json.dumps(scenario))
        self.left = processes.with_environment(mark.encode("ascii"))
        sshx.record(done)
        if done.code != 0:
            raise AssertionError(f"the session failed\n{done}")
        report = json.loads(done.out)
        self.steps, self.negotiated, self.errors = report["steps"], report["negotiated"], report["errors"]
        files = sorted(glob.glob(os.path.join(folder, "*.jsonl")))
        entries = {path: _entries(path) for path in files}
        own = entries[os.path.join(folder, f"{report['server']}.jsonl")]
        self.frames = [(entry["from"], json.loads(entry["text"])) for entry in own if entry["from"] != "tee"]
        self.end = next(entry for entry in own if entry["from"] == "tee")
        self.probes = len(files) - 1
        self.verdict = judge(*files)


def _entries(path):
    with open(path, encoding="ascii") as file:
        return [json.loads(line) for line in file]
