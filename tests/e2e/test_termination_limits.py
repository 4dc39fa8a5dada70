"""Where a command's end cannot be proven, or must not be looked for: the result says `unknown`, and nothing runs twice.

Forced commands, MaxSessions, servers that are not OpenSSH, a stopped server, a lost connection (design §7).
"""

import os
import signal
import unittest

from tests.lab import Account, login_kinds, processes
from tests.lab.scripted_server import ScriptedServer
from tests.lab.termination import STUBBORN, TerminationCase, Work


class LimitCase(TerminationCase):
    def program(self, folder, name, body):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
        return path

    def counted(self, folder):
        """An empty file to which every account may append."""
        path = os.path.join(folder, "runs")
        with open(path, "w", encoding="ascii"):
            pass
        os.chmod(path, 0o666)
        return path

    def lines_in(self, path):
        with open(path, encoding="ascii") as file:
            return file.read().splitlines()


class ForcedCommandTest(LimitCase):
    """The second session would run the forced command again, so it is not opened."""

    def wrapper(self):
        folder = self.folder()
        runs = self.counted(folder)
        return runs, self.program(folder, "forced", f'echo run >> {runs}\nsh -c "$SSH_ORIGINAL_COMMAND"\nexit $?')

    def check(self, server, runs, names, options=()):
        self.assertTrue(names)
        for name in names:
            with self.subTest(account=name):
                with open(runs, "w", encoding="ascii"):
                    pass
                document, _, _ = self.interrupted(server, name, "sleep @; true", signal.SIGINT, options)
                self.assert_fields(document, remote_state="unknown")
                self.assertEqual(self.lines_in(runs), ["run"])

    def test_of_the_key(self):
        runs, forced = self.wrapper()
        line = f'command="{forced}" {self.lab.key().public_line}'
        self.check(self.server(authorized=(line,)), runs, [name for _, name, _ in login_kinds()])

    def test_of_the_server(self):
        runs, forced = self.wrapper()
        # Not for root: OpenSSH neither announces this one nor tells it from root's ordinary refusal of signals.
        names = [name for label, name, _ in login_kinds() if label != "root"]
        self.check(self.server(config=(f"ForceCommand {forced}",)), runs, names)

    def test_of_the_server_where_no_second_session_is_allowed(self):
        runs, forced = self.wrapper()
        names = [name for _, name, _ in login_kinds()]
        self.check(self.server(config=(f"ForceCommand {forced}",)), runs, names, ("--second-channel", "never"))

    # The known limit above must not become a lie: what root's second session meets there is not the connection's sshd.
    def test_what_the_server_forces_on_root_is_not_called_terminated(self):
        _, forced = self.wrapper()
        server = self.server(config=(f"ForceCommand {forced}",))
        for _, name, _ in login_kinds():
            with self.subTest(account=name):
                document, _, _ = self.interrupted(server, name, "sleep @; true", signal.SIGINT)
                self.assert_fields(document, remote_state="unknown")


class ShellBetweenTest(LimitCase):
    """A login shell that runs the command as a child of its own, as session recorders do."""

    def test_it_does_not_hide_what_is_left(self):
        shell = self.program(self.folder(), "recorder", 'sh -c "$2"\nexit $?')
        accounts = [Account(name, shell, kind) for _, name, kind in login_kinds()]
        server = self.server(*accounts)
        for account in accounts:
            for command in ("sleep @; true", STUBBORN):
                with self.subTest(account=account.name, command=command):
                    self.interrupted(server, account.name, command, signal.SIGINT)


class OneSessionTest(LimitCase):
    def test_the_protocol_is_all_there_is(self):
        server = self.server(config=("MaxSessions 1",))
        for label, name, _ in login_kinds():
            for command in ("sleep @; true", "trap '' INT; sleep @; sleep @; true", STUBBORN):
                with self.subTest(account=label, command=command):
                    document, _, work = self.interrupted(server, name, command, signal.SIGINT)
                    self.assert_fields(document, remote_state="unknown")
                    self.assert_mentions(" ".join(document["warnings"]), "MaxSessions")
                    if label != "root":  # OpenSSH delivers no signal to root's commands.
                        processes.eventually(lambda work=work: not work.left(), "the signals have ended the command")

    def test_never_means_never(self):
        server = self.server()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                before = server.log().count("Starting session:")
                document, _, work = self.interrupted(
                    server, name, "sleep @; true", signal.SIGINT, ("--second-channel", "never")
                )
                self.assert_fields(document, remote_state="unknown")
                self.assert_mentions(" ".join(document["warnings"]), "second_channel")
                self.assertEqual(server.log().count("Starting session:") - before, 1)
                if label != "root":
                    processes.eventually(lambda work=work: not work.left(), "the signals have ended the command")


class OtherServerTest(LimitCase):
    """What the second session asks about is how OpenSSH starts sessions; another server is asked nothing.

    There, a forced command is announced by nobody, and the parent of a session may be the parent of everybody's.
    """

    def test_nothing_else_is_run_there(self):
        for user in ("root", "alice"):
            for answer in ("accept_request", "refuse_request"):
                with self.subTest(user=user, answer=answer):
                    self.check(user, answer)

    def check(self, user, answer):
        requests = []

        def script(exchange):
            def reply(name, want_reply, _message):
                requests.append(name)
                if want_reply:
                    getattr(exchange, answer)()

            exchange.on_request(reply)
            exchange.stdout(b"begun")
            exchange.hold()

        server = ScriptedServer(self.lab.key(name="host"), script)
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        running = self.sshx.start(
            "run", "--address", f"{user}@{server.address}:{server.port}", "--identity", self.lab.key().path,
            "--timeout", "2s", "--json", "--", "work",
        )  # fmt: skip
        document = self.sshx.document(running.wait(), "sshx.result.v1")
        self.assert_stopped(document, "timeout", "command")
        self.assert_fields(document, remote_state="unknown")
        self.assertEqual(server.commands, [b"work"])
        self.assertEqual(set(requests), {"signal"})


class BrokenConnectionTest(LimitCase):
    def connection_pids(self, server):
        return [pid for pid in server.session_pids() if _name_of(pid).startswith("sshd")]

    def test_a_server_that_was_stopped(self):
        server = self.server()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                listeners = set(self.connection_pids(server))
                work = Work(self, server, name, "sleep @; true", ("--json",)).begun()
                self.addCleanup(work.clear)
                stopped = [pid for pid in self.connection_pids(server) if pid not in listeners]
                self.assertTrue(stopped)
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)
                self.addCleanup(lambda pids=tuple(stopped): processes.kill_all(pids))
                work.running.signal(signal.SIGINT)
                document = self.sshx.document(work.running.wait())
                self.assert_stopped(document, "cancelled", "signal")
                self.assert_fields(document, remote_state="unknown")
                self.assert_honest(document, work.left())
                self.assert_kept(document, work.token)
                processes.kill_all(stopped)

    def test_a_connection_that_is_lost(self):
        server = self.server()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                work = Work(self, server, name, "sleep @; kill -9 $PPID; sleep @", ("--json",))
                work.begun()
                self.addCleanup(work.clear)
                processes.kill_all(work.sleepers())
                document = self.sshx.document(work.running.wait())
                self.assert_fields(document, error_kind="connection_lost", executed=True, remote_state="unknown")
                self.assert_kept(document, work.token)

    def test_a_connection_that_is_lost_while_the_command_is_ended(self):
        server = self.server()
        for label, name, _ in login_kinds():
            with self.subTest(account=label):
                command = "trap 'kill -9 $PPID' INT; sleep @ & wait; sleep @; true"
                document, _, _ = self.interrupted(server, name, command, signal.SIGINT)
                self.assert_fields(document, remote_state="unknown")


def _name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
