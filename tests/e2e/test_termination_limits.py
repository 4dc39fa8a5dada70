"""Where a command's end cannot be proven, or must not be looked for: the result says `unknown`, and nothing runs twice.

Forced commands, MaxSessions, servers that are not OpenSSH, what runs as another user, a hidden /proc, a stopped
server, a lost connection (design §7).
"""

import os
import shutil
import signal
import unittest

from tests.lab import Account, login_kinds, processes
from tests.lab.scripted_server import ScriptedServer
from tests.lab.termination import TerminationCase, Work, alone

STUBBORN = "trap '' INT TERM; sleep @; sleep @; sleep @; sleep @; sleep @; true"


class LimitCase(TerminationCase):
    def folder(self):
        """A folder that every account can reach, as the scratch directory is when a server has accounts."""
        path = self.lab.new_directory("w")
        os.chmod(path, 0o755)
        os.chmod(self.lab.directory, 0o711)
        return path

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


# As root the laboratory can make programs that run as another user than the login; nobody else can.
_BECOME = {
    "the command itself": "exec {become} sleep @",
    "below the login shell": "{become} sleep @; true",
    "in the background": "{become} sleep @ & sleep @; true",
    "an orphan in the shell's group": "({become} sleep @ &); sleep @; true",
    "an orphan in its own group": "({become} timeout @ sleep @ &); sleep @; true",
    "an orphan where INT is ignored": "trap '' INT; ({become} timeout @ sleep @ &); sleep @; sleep @; true",
    "in a session of its own": "{become} setsid -w sleep @; true",
}
SURVIVORS = _BECOME if os.geteuid() == 0 else {}


class OtherUserTest(LimitCase):
    """What sudo and its like start belongs to another user: this login may neither end it nor always see it."""

    def become(self):
        path = os.path.join(self.folder(), "become")
        shutil.copy("/usr/bin/setpriv", path)
        os.chmod(path, 0o4755)
        return f"{path} --reuid 0 --regid 0 --clear-groups"

    @staticmethod
    def wait_for_the_other_user(work):
        processes.eventually(lambda: work.sleepers(uid=0), "what runs as the other user sleeps")

    def check(self, **options):
        self.assertEqual(bool(SURVIVORS), os.geteuid() == 0)
        become, server = self.become() if SURVIVORS else "", self.server(Account("mallory"), **options)
        for what, template in SURVIVORS.items():
            with self.subTest(what):
                command = template.replace("{become}", become)
                document, left, _ = self.interrupted(
                    server, "mallory", command, signal.SIGINT, before_stop=self.wait_for_the_other_user
                )
                self.assertNotEqual(left, [], "the survivor was to survive")
                self.assertIn(document["remote_state"], ("running", "unknown"))

    def test_it_is_not_called_terminated(self):
        self.check()

    def test_nor_where_proc_hides_it(self):
        for options in ("hidepid=1", "hidepid=2"):
            with self.subTest(options):
                self.check(prefix=alone(options))

    def test_a_hidden_proc_makes_nothing_else_wrong(self):
        server = self.server(prefix=alone("hidepid=2"))
        for label, name, _ in login_kinds():
            for command in ("sleep @; true", "(timeout @ sleep @ &); sleep @; true", STUBBORN):
                with self.subTest(account=label, command=command):
                    self.interrupted(server, name, command, signal.SIGINT)


class BusyHostTest(LimitCase):
    """Other accounts' processes come and go; they are nobody's reason not to know what became of a command."""

    def test_a_daemon_of_another_account_that_came_later(self):
        server = self.server()
        for _, name, _ in login_kinds():
            for _, other, _ in login_kinds():
                with self.subTest(account=name, other=other):
                    number = self.unique_number()
                    self.addCleanup(lambda number=number: self.kill_with_argument(number))
                    self.ends(
                        ("terminated",), server, name, "sleep @; true", signal.SIGINT,
                        before_stop=lambda _, other=other, number=number: self.sshx.ok(
                            "run", "--target", other, "--", f"setsid sh -c 'sleep {number} &' > /dev/null 2>&1"
                        ),
                    )  # fmt: skip
                    self.assertNotEqual(self.processes_with(number), [], "the other daemon was ended")


class NoToolsTest(LimitCase):
    """The second session needs little on the host, and says nothing wrong where that is missing."""

    TOOLS = ("sh", "sleep", "touch", "timeout", "grep", "ps", "env", "cat")

    def tools(self, *missing):
        folder = self.folder()
        for tool in set(self.TOOLS) - set(missing):
            os.symlink(shutil.which(tool), os.path.join(folder, tool))
        return f"SetEnv PATH={folder}"

    def check(self, commands, states, *missing):
        server = self.server(config=(self.tools(*missing),))
        for label, name, _ in login_kinds():
            for command in commands:
                with self.subTest(account=label, command=command):
                    self.ends(states, server, name, command, signal.SIGINT)

    def test_without_ps(self):
        self.check(("sleep @; true", "trap '' INT; sleep @; sleep @; sleep @; true"), ("terminated",), "ps")

    def test_without_grep(self):
        commands = ("(timeout @ sleep @ &); sleep @; true", "sleep @; true")
        self.check(commands, ("terminated", "unknown"), "grep")

    def test_without_any(self):
        self.check(("(timeout @ sleep @ &); sleep @; true",), ("terminated", "unknown"), "ps", "grep")


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
