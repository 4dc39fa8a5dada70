"""The laboratory itself: what it promises must hold, or the other tests prove nothing."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

from tests.lab import LabCase, eventually
from tests.lab.documents import closed, parse
from tests.lab.fault_proxy import FaultProxy, PacketCounter, Rule
from tests.lab.facts import size_in_document, stream
from tests.lab.lab import ROOT
from tests.lab.processes import is_running, with_environment
from tests.lab.scripted_server import ScriptedServer
from tests.lab.sshx import with_option

_VICTIM = """
import sys, threading
from tests.lab.lab import Lab
lab = Lab()
server, agent = lab.server(), lab.agent(lab.key())
print(lab.directory, server._process.pid, agent._process.pid, server.port, flush=True)
threading.Event().wait()
"""


class _Echo:
    """Sends back what comes, and ends when its peer does."""

    address = "127.0.0.1"
    user = "nobody"

    def __init__(self):
        self._listener = socket.create_server((self.address, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self):
        self._listener.close()

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection:
            while chunk := connection.recv(1 << 16):
                connection.sendall(chunk)


class ServerTest(LabCase):
    def ssh(self, server, command, *options):
        known = os.path.join(self.lab.new_directory("n"), "known_hosts")
        with open(known, "w", encoding="ascii") as file:
            file.write(server.known_hosts_line() + "\n")
        return subprocess.run(
            ["ssh", "-F", "none", "-i", self.lab.key().path, "-o", f"UserKnownHostsFile={known}", "-o", "BatchMode=yes",
             "-o", "StrictHostKeyChecking=yes", "-p", str(server.port), *options, server.address, command],
            capture_output=True, check=False, timeout=60,
        )  # fmt: skip

    def test_a_real_client_gets_in(self):
        server = self.lab.server()
        done = self.ssh(server, 'echo "$HOME"; exit 3', "-l", server.user)
        self.assertEqual((done.returncode, done.stdout.decode().strip()), (3, server.home), done)

    def test_the_scripted_server_does_what_it_is_told(self):
        def script(exchange):
            exchange.exit_status(5)
            exchange.stdout_split(b"o" * 100000, 1)
            exchange.stderr_split(b"e" * 1000, 2)
            exchange.end_of_file()
            exchange.close()

        server = ScriptedServer(self.lab.key(name="host"), script)
        self.addCleanup(server.stop)
        done = self.ssh(server, "work", "-l", "alice")
        self.assertEqual((done.returncode, len(done.stdout)), (5, 100000), done)
        self.assertEqual(done.stderr.count(b"e" * 1000), 1)
        self.assertEqual(server.commands, [b"work"])

    def test_stopping_a_server_ends_what_ran_on_it(self):
        server = self.lab.server()
        mark = os.path.join(server.directory, "pid")
        running = subprocess.Popen(
            ["ssh", "-F", "none", "-i", self.lab.key().path, "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes",
             "-o", "UserKnownHostsFile=/dev/null", "-l", server.user, "-p", str(server.port), server.address,
             f"trap '' HUP; echo $$ > {mark}; sleep 600; sleep 600"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        eventually(lambda: os.path.exists(mark) and os.path.getsize(mark), "the command runs")
        with open(mark, encoding="ascii") as file:
            remote = int(file.read())
        server.stop()
        eventually(lambda: not is_running(remote), "the remote command is gone")

    def test_nothing_survives_a_killed_test(self):
        victim = subprocess.Popen([sys.executable, "-c", _VICTIM], stdout=subprocess.PIPE, cwd=ROOT, text=True)
        directory, *numbers = victim.stdout.readline().split()
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", directory], check=True))
        server, agent = int(numbers[0]), int(numbers[1])
        self.assertTrue(is_running(server) and is_running(agent))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()
        eventually(lambda: not is_running(server) and not is_running(agent), "server and agent died with the test")

    def test_ports_do_not_collide(self):
        servers = [self.lab.server() for _ in range(5)]
        self.assertEqual(len({server.port for server in servers}), 5)

    def test_a_process_is_found_by_its_environment(self):
        child = subprocess.Popen(["sleep", "600"], env={"SSHX_LAB": "here"})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        eventually(lambda: with_environment(b"SSHX_LAB=here") == [child.pid], "the process is found")


class FaultProxyTest(LabCase):
    def link(self, *rules):
        """A proxy in front of a server that echoes, and a client connected through it."""
        echo = _Echo()
        self.addCleanup(echo.stop)
        proxy = FaultProxy(echo, *rules)
        self.addCleanup(proxy.stop)
        client = socket.create_connection((proxy.address, proxy.port), timeout=30)
        self.addCleanup(client.close)
        return proxy, client

    def answer(self, client, content):
        client.sendall(content)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := client.recv(1 << 16):
            received += chunk
        return received

    def test_without_a_rule_nothing_changes(self):
        content = os.urandom(1 << 20)
        proxy, client = self.link()
        self.assertEqual(self.answer(client, content), content)
        self.assertEqual((proxy.passed("up"), proxy.passed("down")), (len(content), len(content)))

    def test_a_flip_changes_one_bit_of_one_byte(self):
        _, client = self.link(Rule(lambda link: link.flip("down"), "down", byte=1000))
        content = bytes(3000)
        self.assertEqual(self.answer(client, content), bytes(1000) + b"\x01" + bytes(1999))

    def test_a_cut_lets_exactly_the_bytes_before_it_pass(self):
        _, client = self.link(Rule(lambda link: link.cut(), "down", byte=1234))
        client.sendall(bytes(5000))
        received = b""
        while chunk := client.recv(1 << 16):
            received += chunk
        self.assertEqual(len(received), 1234)

    def test_a_reset_is_one(self):
        _, client = self.link(Rule(lambda link: link.reset(), "up", byte=10))
        client.sendall(bytes(20))
        with self.assertRaises(ConnectionResetError):
            client.recv(1)

    def test_a_stall_holds_and_a_resume_loses_nothing(self):
        proxy, client = self.link(Rule(lambda link: link.stall("down"), "down", byte=100))
        client.sendall(bytes(200))
        eventually(lambda: proxy.links and proxy.links[0].stalled, "the relay has stalled")
        self.assertEqual(proxy.passed("down"), 100)
        proxy.links[0].resume()
        self.assertEqual(len(self.answer(client, b"")), 200)

    def test_packets_are_told_apart(self):
        counter = PacketCounter()
        plain = [struct.pack(">IBB", 12, 4, kind) + bytes(10) for kind in (20, 30, 21)]
        sealed = struct.pack(">I", 32) + bytes(32 + 16)
        whole = b"SSH-2.0-x\r\n" + b"".join(plain) + sealed * 2
        found = [number for at in range(0, len(whole), 7) for _, number in counter.pieces(whole[at : at + 7])]
        self.assertEqual([number for number in found if number], [1, 2, 3, 4, 5])
        self.assertEqual(counter.sizes, [16, 16, 16, 52, 52])


class DocumentsTest(LabCase):
    def test_an_undescribed_field_is_refused(self):
        document = {
            "schema_version": "sshx.error.v1", "success": False, "operation": None, "exit_code": -1,
            "error_kind": "config",
            "error": {"kind": "config", "code": "usage", "message": "m", "phase": "resolve", "retryable": False,
                      "retry_safety": "safe", "hint": None},
        }  # fmt: skip
        self.lab.documents.validate(document)
        for change in (
            {"extra": 1},
            {"schema_version": "sshx.error.v2"},
            {"exit_code": 0},
            {"error": {**document["error"], "colour": "red"}},
            {"error": {**document["error"], "code": "unheard_of"}},
        ):
            with self.subTest(change), self.assertRaises(AssertionError):
                self.lab.documents.validate({**document, **change})

    def test_only_one_document_and_a_line_feed(self):
        for raw in (b"", b"{}", b"{}\n{}\n", b"[]\n", b"x\n", b'{"a":1,"a":2}\n', b'{"a":NaN}\n', b"\xff\n"):
            with self.subTest(raw), self.assertRaises((AssertionError, UnicodeDecodeError)):
                self.lab.documents.parse_one(raw)

    def test_closing_a_schema_reaches_every_object(self):
        schema = {"properties": {"a": {"items": {"properties": {}}}, "b": {"type": "object"}}}
        self.assertIs(closed(schema)["additionalProperties"], False)
        self.assertIs(closed(schema)["properties"]["a"]["items"]["additionalProperties"], False)
        self.assertNotIn("additionalProperties", closed(schema)["properties"]["b"])

    def test_small_readers(self):
        document = {"stdout": "/w==", "stdout_encoding": "base64", "stderr": 'a"\n', "stderr_encoding": "utf-8"}
        self.assertEqual((stream(document, "stdout"), stream(document, "stderr")), (b"\xff", b'a"\n'))
        self.assertEqual(size_in_document(document, "stderr"), 5)
        self.assertEqual(with_option(("run", "--", "--json"), "--json"), ["run", "--json", "--", "--json"])
        self.assertEqual(parse('{"a": 1}'), {"a": 1})


if __name__ == "__main__":
    unittest.main()
