"""`--pty`: the remote terminal in the local one, and how the local one is found again afterwards."""

import os
import signal
import unittest

from tests.lab import TargetCase, Terminal, eventually, evidence, processes
from tests.lab.scripted_server import DISCONNECT, ScriptedServer


class TerminalCase(TargetCase):
    def open(self, *command, options=(), **keywords):
        """`sshx run --pty -- command` in a terminal of its own."""
        words = ("run", "--target", "target", "--pty", *options, "--", *command)
        terminal = Terminal(self.sshx, *words, **keywords)
        self.addCleanup(terminal.close)
        return terminal

    def last_event(self):
        """The newest execution in the evidence; a run with a terminal has no document."""
        return self.sshx.json("audit", "query", "--limit", "1", code=0)["events"][0]


class RemoteTerminalTest(TerminalCase):
    # B043
    def test_the_command_has_a_terminal_of_the_local_ones_kind_and_size(self):
        command = "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM"
        done = self.open(command, rows=33, columns=121, environment={"TERM": "screen-256color"}).wait()
        self.assertEqual((done.code, done.out), (0, b"33 121\r\nscreen-256color\r\n"), done)

    def test_without_it_there_is_none(self):
        terminal = Terminal(self.sshx, "run", "--target", "target", "--", "test -t 0 || test -t 1 || echo none")
        self.addCleanup(terminal.close)
        done = terminal.wait()
        self.assertEqual((done.code, done.out), (0, b"none\r\n"), done)

    def test_a_change_of_size_is_passed_on(self):
        terminal = self.open('stty size; while [ "$(stty size)" = "24 80" ]; do sleep 0.05; done; stty size')
        terminal.wait_for(b"24 80\r\n")
        terminal.resize(50, 132)
        self.assertEqual(terminal.wait().out, b"24 80\r\n50 132\r\n")

    def test_stderr_is_merged_and_that_is_said(self):
        done = self.open("echo out; echo err >&2").wait()
        self.assertEqual(done.out, b"out\r\nerr\r\n")
        self.assertTrue(done.error_text.startswith("sshx: "), done)
        self.assert_mentions(done.error_text, "stderr", "stdout", "terminal")
        self.assertNotIn("err\n", done.error_text.replace("stderr", ""))

    def test_a_preview_says_it_beforehand(self):
        document = self.sshx.json("run", "--target", "target", "--pty", "--dry-run", "--", "true", code=0)
        self.assertTrue(any("stderr" in note for note in document["notes"]), document["notes"])
        self.assert_fields(document["plan"]["action"], pty=True)

    def test_the_status_is_the_commands(self):
        for command, code in (("exit 0", 0), ("exit 42", 42), ("kill -KILL $$", 137)):
            with self.subTest(command):
                self.assertEqual(self.open(command).wait().code, code)

    def test_the_evidence_knows_of_it(self):
        self.assertEqual(self.open("true").wait().code, 0)
        self.assert_fields(self.last_event(), outcome="succeeded")
        self.assertEqual([record["action"]["pty"] for record in evidence.records(self.sshx.audit_path)[:1]], [True])

    def test_folder_and_variables_work_in_it(self):
        done = self.open('pwd; echo "$A"; test -t 0 && echo terminal', options=("--cwd", "/", "--env", "A=1 2")).wait()
        self.assertEqual((done.code, done.out), (0, b"/\r\n1 2\r\nterminal\r\n"), done)


class LocalTerminalTest(TerminalCase):
    """`Terminal.wait` itself fails when the modes are not the ones from before."""

    def test_it_is_raw_while_the_command_runs(self):
        terminal = self.open("echo ready; read line; echo got $line")
        terminal.wait_for(b"ready\r\n")
        self.assertTrue(terminal.is_raw())
        terminal.type(b"a line\r")
        done = terminal.wait()
        self.assertTrue(terminal.output.endswith(b"got a line\r\n"), done)

    def test_a_run_without_a_terminal_leaves_it_alone(self):
        words = ("run", "--target", "target", "--stdin", "--", "echo ready; read line; echo got $line")
        terminal = Terminal(self.sshx, *words)
        self.addCleanup(terminal.close)
        terminal.wait_for(b"ready\r\n")
        self.assertTrue(terminal.is_as_before())
        terminal.type(b"a line\n")
        self.assertTrue(terminal.wait().out.endswith(b"got a line\r\n"))

    def test_it_is_restored_after_a_remote_failure(self):
        self.assertEqual(self.open("exit 9").wait().code, 9)

    def test_it_is_restored_after_sigterm(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number.name):
                terminal = self.open("echo ready; sleep 1000")
                terminal.wait_for(b"ready\r\n")
                self.assertTrue(terminal.is_raw())
                os.kill(terminal.process.pid, number)
                self.assertEqual(terminal.wait().code, 255)
                self.assert_fields(self.last_event(), error_kind="cancelled")

    def test_it_is_restored_after_a_timeout(self):
        done = self.open("echo ready; sleep 1000", options=("--timeout", "2s")).wait()
        self.assertEqual(done.code, 255)
        self.assert_mentions(done.error_text, "timeout")

    def test_it_is_restored_after_a_lost_connection(self):
        terminal = self.open("echo ready; sleep 1000")
        terminal.wait_for(b"ready\r\n")
        self.assertTrue(terminal.is_raw())
        processes.kill_all(self.server.session_pids())
        self.assertEqual(terminal.wait().code, 255)
        self.assert_fields(self.last_event(), error_kind="connection_lost")

    def test_it_is_restored_when_the_server_refuses_a_terminal(self):
        server = self.lab.server(config=("PermitTTY no",))
        self.sshx.trust(self.server.known_hosts_line(), server.known_hosts_line())
        self.sshx.add_host("refusing", server, identity=self.lab.key())
        terminal = Terminal(self.sshx, "run", "--target", "refusing", "--pty", "--", "echo ran")
        self.addCleanup(terminal.close)
        done = terminal.wait()
        self.assertEqual((done.code, done.out), (255, b""), done)
        self.assert_mentions(done.error_text, "terminal")
        event = self.last_event()
        self.assert_fields(
            event, error_kind="protocol", error_code="pty_refused", executed=False, completion="not_started"
        )


    def test_a_server_that_leaves_instead_of_giving_one_refuses_nothing(self):
        def leave(moment):
            moment.send(DISCONNECT, 11, "closing time", "")
            moment.half_close()

        # The terminal's is the first request that is answered.
        server = ScriptedServer(self.lab.key(name="host"), faults={"exec request": leave})
        self.addCleanup(server.stop)
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("leaving", server, identity=self.lab.key())
        terminal = Terminal(self.sshx, "run", "--target", "leaving", "--pty", "--", "echo ran")
        self.addCleanup(terminal.close)
        done = terminal.wait()
        self.assertEqual((done.code, done.out), (255, b""), done)
        self.assert_mentions(done.error_text, "closing time")
        self.assert_fields(
            self.last_event(),
            error_kind="connection_lost", error_code="closed", executed=False, completion="not_started",
        )  # fmt: skip
        self.assertEqual(server.commands, [])


class KeysTest(TerminalCase):
    # B192
    def test_ctrl_c_reaches_the_program(self):
        terminal = self.open("echo ready $$; read line; echo not reached")
        terminal.wait_for(b"\r\n")
        pid = int(terminal.output.split()[1])
        terminal.type(b"\x03")
        done = terminal.wait()
        self.assertEqual(done.code, 130, done)
        self.assertNotIn(b"not reached", done.out)
        eventually(lambda: not processes.is_running(pid), "the remote shell is gone")
        self.assert_fields(self.last_event(), remote_state="exited")

    def test_a_program_may_take_ctrl_c_as_it_likes(self):
        terminal = self.open("trap 'echo trapped' INT; echo ready; read line; read line; echo $line")
        terminal.wait_for(b"ready\r\n")
        terminal.type(b"\x03")
        terminal.wait_for(b"trapped\r\n")
        terminal.type(b"more\r" * 2)
        done = terminal.wait()
        self.assertEqual(done.code, 0, done)
        self.assertTrue(done.out.endswith(b"more\r\n"), done)

    def test_every_key_is_passed_on_as_it_is(self):
        keys = bytes(range(256))
        terminal = self.open(f"stty raw -echo; echo ready; head -c {len(keys)} | od -An -v -tx1")
        terminal.wait_for(b"ready")
        terminal.type(keys)
        done = terminal.wait()
        self.assertEqual(bytes.fromhex(done.out.split(b"ready", 1)[1].decode()), keys)

    def test_output_is_not_touched_by_the_local_terminal(self):
        done = self.open("stty raw; printf 'a\\nb\\r\\tc\\033[1m\\303\\274'").wait()
        self.assertEqual(done.out, b"a\nb\r\tc\x1b[1m\xc3\xbc")

    def test_ctrl_d_ends_the_programs_input(self):
        terminal = self.open("echo ready; cat; echo end")
        terminal.wait_for(b"ready\r\n")
        terminal.type(b"\x04")
        self.assertTrue(terminal.wait().out.endswith(b"end\r\n"))


class NoLocalTerminalTest(TerminalCase):
    def test_stdin_that_is_no_terminal(self):
        for stdin in (None, b"", b"typed\n"):
            with self.subTest(stdin):
                words = ("run", "--target", "target", "--pty", "--", "test -t 0 && stty size; echo $TERM")
                done = self.sshx.run(*words, stdin=stdin, environment={"TERM": None})
                self.assertEqual((done.code, done.out.replace(b"typed\r\n", b"")), (0, b"24 80\r\ndumb\r\n"), done)

    def test_stdin_that_is_no_terminal_is_passed_on(self):
        words = ("run", "--target", "target", "--pty", "--", "stty -echo; read a; echo got $a")
        done = self.sshx.run(*words, stdin=b"typed\n")
        self.assertEqual(done.code, 0)
        self.assertTrue(done.out.endswith(b"got typed\r\n"), done)

    def test_a_given_stdin_is_typed(self):
        path = os.path.join(self.sshx.directory, "keys")
        with open(path, "wb") as file:
            file.write(b"typed\r")
        options = ("--pty", "--stdin-file", path)
        done = self.sshx.run("run", "--target", "target", *options, "--", "stty -echo; read a; echo got $a")
        self.assertTrue(done.out.endswith(b"got typed\r\n"), done)


class RefusalTest(TerminalCase):
    def test_not_with_json(self):
        before = self.server.connections()
        document = self.run_json("true", options=("--pty",), code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config", error__code="request_conflict")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "--pty", "--json")
        self.assertEqual(self.server.connections(), before)


if __name__ == "__main__":
    unittest.main()
