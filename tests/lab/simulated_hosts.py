"""Hosts that misbehave by the thousand, in a process of their own: one port a behaviour, on every loopback address.

They never get as far as a key exchange, so one process can be any number of them; for hosts that do, there is sshd.
"""

import asyncio
import json
import socket
import struct
import subprocess
import sys

from tests.lab import processes

BEHAVIOURS = ("silent", "slow", "resetting", "flooding")
# RFC 4253 §4.2: a server may send lines of its own before its identification.
_LINE = b"wait for it\r\n"
_FLOOD = _LINE * 512


async def _silent(_reader, writer):
    await _until_closed(writer)


async def _slow(_reader, writer):
    while not writer.is_closing():
        for byte in _LINE:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.1)


async def _resetting(_reader, writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _flooding(_reader, writer):
    while not writer.is_closing():
        writer.write(_FLOOD)
        await writer.drain()
        await asyncio.sleep(0)


async def _until_closed(writer):
    while not writer.is_closing():
        await asyncio.sleep(1)


def _serving(behave):
    async def serve(reader, writer):
        try:
            await behave(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    return serve


async def _main():
    servers = {}
    for name in BEHAVIOURS:
        servers[name] = await asyncio.start_server(_serving(globals()[f"_{name}"]), "0.0.0.0", 0, backlog=4096)
    print(json.dumps({name: server.sockets[0].getsockname()[1] for name, server in servers.items()}), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers.values()))


class SimulatedHosts:
    """`ports`: the port of each behaviour, and of `dead`, where nobody listens."""

    def __init__(self):
        self._process = processes.start(
            [sys.executable, "-B", "-m", "tests.lab.simulated_hosts"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        self.ports = json.loads(self._process.stdout.readline())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.ports["dead"] = free.getsockname()[1]

    def stop(self):
        self._process.stdout.close()
        processes.stop(self._process)


if __name__ == "__main__":
    asyncio.run(_main())
