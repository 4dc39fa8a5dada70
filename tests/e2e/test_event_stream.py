"""`--jsonl`: a line for each event when it happens, with the result verbatim, whatever becomes of the run or its reader."""

import hashlib
import os
import re
import signal
import unittest

from tests.lab import LabCase, TargetCase, eventually, evidence, measure, processes
from tests.lab.documents import output_of, parse
from tests.lab.scripted_case import ScriptedCase
from tests.lab.scripted_server import PlainListener
from tests.lab.termination import run_until_reader_goes

# What two runs of one request differ in.
_OF_ONE_RUN = re.compile(rb'"(execution_id|run_id|started_at|duration_ms|\w+_ms)":("[^"]*"|\d+)')


class StreamCase(LabCase):
    def kinds(self, events):
        return [event["event"] for event in events]

    def traced_environment(self):
        """Leak detection needs ptrace, which strace holds."""
        return {"ASAN_OPTIONS": self.sshx.environment["ASAN_OPTIONS"] + ":detect_leaks=0"}

    def finished(self, request_id):
        """The evidence of the one execution with that request id."""
        (event,) = self.sshx.json("audit", "query", "--request-id", request_id, code=0)["events"]
        return event


class LawsTest(StreamCase, TargetCase):
    def stream(self, *words, options=(), **keywords):
        return self.sshx.stream("run", "--target", "target", *options, "--", *words, **keywords)

    def test_a_success(self):
        events = self.stream("echo out; echo err >&2", options=("--request-id", "ticket-1"), code=0)
        started, target, finished, end = events
        self.assert_fields(started, seq=1, operation="run", request_id="ticket-1", selected=1)
        self.assert_fields(target, seq=2, target=finished["result"]["target"])
        self.assert_fields(
            finished, seq=3, result__stdout="out\n", result__stderr="err\n", result__success=True,
            result__request_id="ticket-1", result__audit_status="written",
        )  # fmt: skip
        self.assert_fields(end, seq=4, exit_code=0, counts__succeeded=1)
        self.assertGreaterEqual(end["duration_ms"], finished["result"]["duration_ms"])

    def test_a_failing_command(self):
        events = self.stream("exit 3", code=3)
        self.assert_fields(events[-2], result__error_kind="remote_exit", result__exit_code=3)
        self.assert_fields(events[-1], counts__failed=1, counts__succeeded=0, exit_code=3)
        self.assertEqual(self.stream("kill -9 $$", code=137)[-1]["exit_code"], 137)

    def test_a_host_that_is_not_reached(self):
        events = self.stream("true", options=("--port", "1"), code=255)
        self.assert_fields(events[-2], result__error__code="refused")
        self.assert_fields(events[-1], counts__started=1, counts__failed=1)

    def test_evidence_that_is_required_and_cannot_be_kept(self):
        options = ("--audit", "required", "--audit-db", "/proc/nowhere/audit.db")
        before = self.server.connections()
        events = self.stream("true", options=options, code=255)
        self.assertEqual(self.kinds(events), ["run_started", "target_finished", "run_finished"])
        self.assert_fields(events[1], result__phase="admission", result__executed=False, result__audit_status="failed")
        self.assert_fields(events[2], counts__selected=1, counts__started=0, counts__failed=1)
        self.assertEqual(self.server.connections(), before)

    def test_evidence_that_cannot_be_kept_and_need_not_be(self):
        events = self.stream("true", options=("--audit-db", "/proc/nowhere/audit.db"), code=0)
        self.assert_fields(events[-2], result__audit_status="failed", result__success=True)
        self.assertEqual(len(self.stream("true", options=("--audit", "off"), code=0)), 4)

    # The bytes of the object, with what no two runs share made equal.
    def test_the_result_is_what_json_prints(self):
        for command in ("echo out; echo err >&2; exit 4", r"printf '\377\000\033[1m'", "head -c 3M /dev/zero"):
            with self.subTest(command):
                options = ("--max-output-bytes", "100K", "--env", "A=é")
                words = ("run", "--target", "target", *options)
                document = self.sshx.run(*words, "--json", "--", command).out
                done = self.sshx.run(*words, "--jsonl", "--", command)
                line = done.out.split(b"\n")[2]
                self.assertEqual(parse(line)["event"], "target_finished")
                _, result = line.split(b',"result":', 1)
                self.assertEqual(self.of_any_run(result), self.of_any_run(document.rstrip(b"\n") + b"}"))
                self.sshx.events(done)

    @staticmethod
    def of_any_run(text):
        return _OF_ONE_RUN.sub(rb'"\1":0', text)

    def test_a_request_as_json(self):
        request = b'{"targets":["target"],"command":"cat","stdin":"in"}'
        events = self.sshx.stream("run", "--request", "-", stdin=request, code=0)
        self.assert_fields(events[-2], result__stdout="in")

    def test_people_are_told_on_stderr(self):
        done = self.sshx.run("run", "--target", "target", "--port", "1", "--jsonl", "--", "true")
        self.assertTrue(done.err.startswith(b"sshx: "), done)

    def test_after_the_dashes_it_is_the_commands(self):
        done = self.sshx.ok("run", "--target", "target", "--", "echo", "--jsonl")
        self.assertEqual(done.out, b"--jsonl\n")

    def test_a_signal(self):
        running = self.sshx.start("run", "--target", "target", "--jsonl", "--", f"touch {self.mark()}; sleep 60")
        eventually(lambda: os.path.exists(self.mark()), "the command runs")
        running.signal(signal.SIGTERM)
        events = self.sshx.events(running.wait())
        self.assert_fields(events[-2], result__error_kind="cancelled", result__completion="partial")
        self.assert_fields(events[-1], counts__failed=1, counts__uncertain=0, exit_code=255)

    def mark(self):
        return os.path.join(self.sshx.directory, "mark")

    def test_what_is_lost_is_uncertain(self):
        events = self.stream("kill -9 $PPID; sleep 60", code=255)
        self.assert_fields(events[-2], result__error_kind="connection_lost", result__completion="unknown")
        self.assert_fields(events[-1], counts__uncertain=1, counts__failed=0)


class UnansweredTest(StreamCase, ScriptedCase):
    def test_a_request_that_is_not_answered_is_uncertain(self):
        self.scripted(accept_exec="never")
        events = self.sshx.stream("run", "--target", "fake", "--timeout", "2s", "--", "work", code=255)
        self.assert_fields(events[-2], result__executed=None)
        self.assert_fields(events[-1], counts__uncertain=1, counts__failed=0)


class WhenItHappensTest(StreamCase, TargetCase):
    def test_the_start_is_told_while_nothing_has_been_answered(self):
        listener = PlainListener()
        self.addCleanup(listener.stop)
        running = self.sshx.start("run", "--target", "target", "--port", listener.port, "--jsonl", "--", "true")
        running.wait_for(b'"target_started"')
        eventually(lambda: listener.connections, "sshx has connected")
        self.assertEqual(len(running.so_far().split(b"\n")), 3)
        running.signal(signal.SIGTERM)
        self.assert_fields(self.sshx.events(running.wait())[-2], result__error_kind="cancelled")

    # Plan, evidence, word to the reader, network.
    def test_evidence_comes_before_it_and_the_first_packet_after(self):
        log = os.path.join(self.lab.new_directory("t"), "strace")
        done = self.sshx.run(
            "run", "--target", "target", "--jsonl", "--audit", "required", "--", "true",
            prefix=("strace", "-f", "-qq", "-y", "-s", "200", "-o", log, "-e", "trace=write,pwrite64,connect"),
            environment=self.traced_environment(),
        )  # fmt: skip
        self.assertEqual(done.code, 0, done)
        with open(log, encoding="utf-8", errors="replace") as file:
            calls = file.read().splitlines()
        at = {
            name: next(number for number, call in enumerate(calls) if " write(" in call and name in call)
            for name in ("run_started", "target_started", "target_finished", "run_finished")
        }
        kept = [number for number, call in enumerate(calls) if "pwrite64(" in call and self.sshx.audit_path in call]
        (connected,) = [number for number, call in enumerate(calls) if f"htons({self.server.port})" in call]
        self.assertLess(at["run_started"], at["target_started"])
        self.assertLess(max(number for number in kept if number < connected), at["target_started"])
        self.assertLess(at["target_started"], connected)
        self.assertLess(max(kept), at["target_finished"])
        self.assertLess(at["target_finished"], at["run_finished"])

    def test_a_kill_leaves_whole_lines(self):
        mark = os.path.join(self.sshx.directory, "mark")
        running = self.sshx.start(
            "run", "--target", "target", "--jsonl", "--request-id", "killed", "--", f"touch {mark}; sleep 60"
        )
        eventually(lambda: os.path.exists(mark), "the command runs")
        events = self.sshx.events(running.kill9(), is_whole=False)
        self.assertEqual(self.kinds(events), ["run_started", "target_started"])
        event = self.finished("killed")
        self.assert_fields(event, outcome="unknown", execution_id=events[1]["execution_id"], run_id=events[0]["run_id"])


class ReaderTest(StreamCase, TargetCase):
    """A reader that is not there any more, or cannot take more, does not change what happens on the host."""

    def setUp(self):
        super().setUp()
        self.mark = os.path.join(self.sshx.directory, "mark")
        self.gate = os.path.join(self.sshx.directory, "gate")

    def words(self):
        command = f"until test -e {self.gate}; do sleep 0.05; done; touch {self.mark}"
        return ("run", "--target", "target", "--jsonl", "--request-id", "x", "--", command)

    def open_gate(self):
        with open(self.gate, "w", encoding="ascii"):
            pass

    def assert_done(self):
        self.assertTrue(os.path.exists(self.mark))
        self.assert_fields(self.finished("x"), outcome="succeeded", completion="completed", exit_code=0)
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 2)

    def test_one_that_goes_away_in_the_middle(self):
        done = run_until_reader_goes(self.sshx, self.words(), b'"target_started"', self.open_gate)
        # As with --json: a reader that has enough is no fault to talk about.
        self.assertEqual((done.code, done.err), (255, b""), done)
        self.sshx.events(self.only_lines(done), is_whole=False)
        self.assert_done()

    @staticmethod
    def only_lines(done):
        done.out = done.out[: done.out.rindex(b"\n") + 1]
        return done

    def test_one_that_was_never_there(self):
        done = run_until_reader_goes(self.sshx, self.words(), b"", self.open_gate)
        self.assertEqual((done.code, done.err), (255, b""), done)
        self.assert_done()

    # Nothing may follow half a line: neither a later event nor the document of an error.
    def test_a_full_disk(self):
        self.open_gate()
        log = os.path.join(self.lab.new_directory("t"), "strace")
        with open("/dev/full", "wb") as full:
            descriptor = full.fileno()
            done = self.sshx.run(
                *self.words(),
                prefix=("strace", "-f", "-qq", "-y", "-o", log, "-e", "trace=write", "sh", "-c", f'exec "$@" >&{descriptor}', "-"),
                pass_fds=(descriptor,),
                environment=self.traced_environment(),
            )
        self.assertEqual(done.code, 255)
        self.assertTrue(done.err.startswith(b"sshx: "), done)
        with open(log, encoding="utf-8", errors="replace") as file:
            self.assertEqual(len(re.findall(r" write\(\d+</dev/full>,", file.read())), 1)
        self.assert_done()


class OutputTest(StreamCase, TargetCase):
    """`--stream`: what a command prints is told as it comes."""

    def words(self, command, *options):
        return ("run", "--target", "target", "--jsonl", "--stream", *options, "--", command)

    # B113
    def test_output_is_told_while_the_command_runs(self):
        gate = os.path.join(self.sshx.directory, "gate")
        running = self.sshx.start(*self.words(f"echo first; until test -e {gate}; do sleep 0.05; done; echo last >&2"))
        running.wait_for(b'"data":"first\\n"')
        with open(gate, "w", encoding="ascii"):
            pass
        events = self.sshx.events(running.wait())
        self.assertEqual(
            self.kinds(events),
            ["run_started", "target_started", "target_output", "target_output", "target_finished", "run_finished"],
        )
        self.assertEqual(output_of(events), {("target", "stdout"): b"first\n", ("target", "stderr"): b"last\n"})
        self.assert_fields(events[-2], result__stdout="first\n", result__stderr="last\n")

    def test_bytes_that_are_no_text_come_whole(self):
        done = self.sshx.ok(*self.words(r"printf 'a\377\000'; head -c 3M /dev/urandom | tee /dev/stderr | sha256sum"))
        said = output_of(self.sshx.events(done))
        self.assertEqual(len(said["target", "stderr"]), 3 << 20)
        digest = hashlib.sha256(said["target", "stderr"]).hexdigest()
        self.assertEqual(said["target", "stdout"], b"a\xff\x00" + digest.encode() + b"  -\n")

    def test_what_the_result_leaves_out_was_told(self):
        done = self.sshx.ok(*self.words("head -c 200K /dev/zero | tr '\\0' x", "--max-output-bytes", "1K"))
        events = self.sshx.events(done)
        self.assertEqual(output_of(events)["target", "stdout"], b"x" * (200 << 10))
        self.assert_fields(events[-2], result__stdout_bytes=200 << 10, result__stdout_truncated=True)

    def unread(self, command, *options, filled=0):
        running = self.sshx.start_unread(*self.words(command, "--request-id", "unread", *options), filled=filled)
        self.addCleanup(running.stop)
        return running

    def until_ended(self, outcome):
        """Waits until the evidence says that the run has ended so."""
        words = ("audit", "query", "--request-id", "unread", "--json")
        eventually(lambda: f'"outcome":"{outcome}"'.encode() in self.sshx.run(*words).out, f"the run has {outcome}")

    # B113: its deadline ends a command whose output nobody takes, and all that was told is there to be read.
    def test_a_reader_that_stalls_holds_the_host_back_until_the_deadline(self):
        mark = os.path.join(self.sshx.directory, "mark")
        running = self.unread(f"echo $$ > {mark}; exec yes", "--timeout", "3s")
        self.until_ended("failed")
        with open(mark, encoding="ascii") as file:
            self.assertFalse(processes.is_running(int(file.read())))
        if not measure.is_instrumented():
            self.assertLess(running.peak_bytes(), 64 << 20)
        code, out = running.read()
        self.assertEqual(code, 255)
        events = self.sshx.documents.parse_stream(out)
        self.assert_fields(events[-2], result__error_kind="timeout", result__remote_state="terminated")
        self.assertGreater(len(output_of(events)["target", "stdout"]), 64 << 10)

    def test_nothing_is_sent_before_the_reader_has_taken_the_start(self):
        before = self.server.connections()
        running = self.unread("true", "--global-timeout", "2s", filled=64 << 10)
        self.until_ended("failed")
        self.assertEqual(self.server.connections(), before)
        code, out = running.read()
        self.assertEqual(code, 255)
        self.assert_fields(
            self.sshx.documents.parse_stream(out)[-2], result__error__code="global", result__executed=False
        )

    def test_a_signal_ends_the_wait_for_a_reader(self):
        running = self.unread("head -c 100K /dev/zero | tr '\\0' x")
        self.until_ended("succeeded")
        running.process.send_signal(signal.SIGTERM)
        code, errors = running.end()
        self.assertEqual(code, 255)
        self.assertIn(b"the reader of the events had not taken all of them: cancelled by SIGTERM", errors)

    def test_without_events_there_is_nothing_to_stream(self):
        for form in ((), ("--json",)):
            with self.subTest(form):
                done = self.sshx.expect(255, "run", "--target", "target", "--stream", *form, "--", "true")
                self.assertIn(b"--stream is for --jsonl", done.out + done.err)


class RefusalTest(StreamCase, TargetCase):
    def one_line(self, *words, **keywords):
        return self.sshx.json("run", *words, **keywords)

    def test_what_is_refused_is_one_error(self):
        for words, code in (
            (("--target", "nowhere", "--jsonl", "--", "true"), "unknown_target"),
            (("--target", "target", "--jsonl", "--taget", "--", "true"), "unknown_option"),
            (("--target", "target", "--jsonl", "--timeout", "0", "--", "true"), "range"),
            (("--target", "target", "--jsonl", "--force", "--", "true"), "required"),
            (("--target", "target", "--jsonl"), "required"),
        ):
            with self.subTest(words):
                document = self.one_line(*words, code=255, version="sshx.error.v1")
                self.assert_fields(document, error__kind="config", error__code=code, operation="run")
        self.assertFalse(os.path.exists(self.sshx.audit_path))

    def test_json_and_jsonl_together(self):
        for options in (("--json", "--jsonl"), ("--jsonl", "--json")):
            with self.subTest(options):
                document = self.one_line(
                    "--target", "target", *options, "--", "true", code=255, version="sshx.error.v1"
                )
                self.assert_fields(document, error__kind="config", error__code="usage")
                self.assert_mentions(document["error"]["message"], "--json", "--jsonl")

    def test_a_terminal_is_for_people(self):
        document = self.one_line("--target", "target", "--jsonl", "--pty", "--", "true", code=255, version="sshx.error.v1")
        self.assert_fields(document, error__code="request_conflict")
        self.assert_mentions(document["error"]["message"], "--pty", "--jsonl")

    def test_a_dry_run_is_one_document(self):
        words = ("--target", "target", "--dry-run")
        document = self.one_line(*words, "--jsonl", "--", "true", code=0, version="sshx.request.v1")
        self.assertEqual(document, self.one_line(*words, "--json", "--", "true", code=0))
        document = self.one_line("--target", "nowhere", "--dry-run", "--jsonl", "--", "true", code=255)
        self.assert_fields(document, schema_version="sshx.request.v1", valid=False, error__code="unknown_target")

    def test_other_operations_have_no_events(self):
        document = self.sshx.json("host", "list", "--jsonl", code=255, version="sshx.error.v1")
        self.assert_fields(document, error__code="unknown_option")


if __name__ == "__main__":
    unittest.main()
