"""Two hundred real targets with thirteen kinds of faults among them: the run ends, explains each, and leaves nothing behind."""

import json
import os
import socket
import unittest

from tests.lab import LabCase, eventually
from tests.lab.scripted_server import PlainListener

_TARGETS = 200
_EACH = 6
# Kinds that a server of their own does with the command that all get: by the port that it was reached on.
_COMMANDS = {
    "failing": "exit 3",
    "signalled": "kill -TERM $$; sleep 600",
    "hanging": "exec sleep 600",
    "flooding": "exec yes",
    "dropping": "kill -9 $PPID",
}
# kind -> what the result says: (error_kind, code, executed, remote_state)
_EXPECTED = {
    "failing": ("remote_exit", "status", True, "exited"),
    "signalled": ("remote_exit", "signal", True, "exited"),
    "hanging": ("timeout", "command", True, "terminated"),
    "flooding": ("timeout", "command", True, "terminated"),
    "dropping": ("connection_lost", ("closed", "reset"), True, "unknown"),
    "unknown": ("host_key", "unknown", False, "not_started"),
    "changed": ("host_key", "changed", False, "not_started"),
    "forbidden": ("auth", "refused", False, "not_started"),
    "dead": ("connect", "refused", False, "not_started"),
    "silent": ("connect", "timeout", False, "not_started"),
    "closing": ("connect", "banner_closed", False, "not_started"),
    "web": ("connect", "not_ssh", False, "not_started"),
    "nameless": ("connect", "dns", False, "not_started"),
}


class BadFleetTest(LabCase):
    def setUp(self):
        super().setUp()
        self.servers = {kind: self.lab.server(config=("MaxStartups 500",)) for kind in ("good", *_COMMANDS)}
        self.servers["forbidden"] = self.lab.server(config=("MaxStartups 500",), authorized=(self.lab.key(name="other"),))
        trusted = [server.known_hosts_line() for server in self.servers.values()]
        self.servers |= {"changed": self.lab.server(), "unknown": self.lab.server()}
        another_key = self.servers["good"].host_keys["ed25519"].public_line
        self.sshx.trust(*trusted, f"{self.servers['changed'].known_hosts_name} {another_key}")
        self.listeners = {
            "silent": PlainListener(), "closing": PlainListener(close=True),
            "web": PlainListener(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", close=True),
        }  # fmt: skip
        for listener in self.listeners.values():
            self.addCleanup(listener.stop)

    def place_of(self, kind):
        if kind == "nameless":
            return "nowhere.invalid", 22
        if kind == "dead":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                return "127.0.0.1", free.getsockname()[1]
        peer = {**self.servers, **self.listeners}[kind]
        return "127.0.0.1", peer.port

    def add_fleet(self):
        """The hosts, kinds evenly mixed by name; name -> kind."""
        faults = [kind for kind in _EXPECTED for _ in range(_EACH)]
        kinds = ["good"] * (_TARGETS - len(faults))
        for number, kind in enumerate(faults):
            kinds.insert(number * _TARGETS // len(faults), kind)
        hosts = {}
        for number, kind in enumerate(kinds):
            address, port = self.place_of(kind)
            hosts[f"n{number:03}-{kind}"] = {
                "address": address, "port": port, "user": self.servers["good"].user, "identity": self.lab.key().path,
            }  # fmt: skip
        with open(self.sshx.hosts_path, "w", encoding="utf-8") as file:
            json.dump({"schema_version": "sshx.hosts_file.v1", "hosts": hosts}, file)
        os.chmod(self.sshx.hosts_path, 0o600)
        return {name: name.split("-")[1] for name in hosts}

    def command(self):
        cases = " ".join(f"{self.servers[kind].port}) {what};;" for kind, what in _COMMANDS.items())
        return f'case "${{SSH_CONNECTION##* }}" in {cases} *) echo fine;; esac'

    # B113, B191, B193, B195: nobody waits for another, what hangs is ended on its host, one dead host stops no other.
    def test_it_ends_explains_each_and_leaves_nothing_behind(self):
        kinds = self.add_fleet()
        self.assertEqual(len(kinds), _TARGETS)
        done = self.sshx.run(
            "run", "--all-hosts", "--concurrency", "32", "--connect-timeout", "15s", "--timeout", "5s", "--json",
            "--max-output-bytes", "4K", "--", self.command(), timeout=300,
        )  # fmt: skip
        document = self.sshx.document(done, "sshx.run.v1")
        self.assertEqual([result["target"]["alias"] for result in document["results"]], sorted(kinds))
        for result in document["results"]:
            name = result["target"]["alias"]
            with self.subTest(name):
                self.check(kinds[name], name, result, done)
        good = sum(kind == "good" for kind in kinds.values())
        self.assert_fields(
            document, exit_code=1, counts__selected=_TARGETS, counts__started=_TARGETS, counts__skipped=0,
            counts__succeeded=good, counts__uncertain=_EACH, counts__failed=_TARGETS - good - _EACH,
        )  # fmt: skip
        self.check_nothing_is_left()

    def check(self, kind, name, result, done):
        if kind == "good":
            self.assert_fields(result, success=True, stdout="fine\n", remote_state="exited")
            return
        error_kind, code, executed, state = _EXPECTED[kind]
        self.assert_fields(result, success=False, error_kind=error_kind, executed=executed, remote_state=state)
        self.assertIn(result["error"]["code"], code if isinstance(code, tuple) else (code,))
        self.assertIn(f"sshx: {name}: {result['error']['message']}\n", done.error_text)

    def check_nothing_is_left(self):
        for kind, server in self.servers.items():
            eventually(lambda server=server: not server.remote_pids(), f"no command is left of {kind}")
            eventually(lambda server=server: not server.session_pids(), f"no session is left of {kind}")


if __name__ == "__main__":
    unittest.main()
