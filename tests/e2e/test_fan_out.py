"""One run on many targets: each is accounted for, and none of them stops another."""

import contextlib
import json
import os
import pty
import signal
import socket
import sqlite3
import subprocess
import unittest

from tests.lab import TargetCase, eventually, processes
from tests.lab.documents import output_of
from tests.lab.mcp import McpClient


class FanOutCase(TargetCase):
    """The server is a number of hosts, all in the group `all`."""

    target_names = ("web-1", "web-2", "web-3", "web-4")
    host_options = ("--group", "all")

    def add_dead_host(self, name):
        """A host whose port refuses."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.sshx.ok("host", "add", name, "--address", "127.0.0.1", "--port", port, "--group", "all", "--identity", self.lab.key().path)

    def run_all(self, *words, options=(), **keywords):
        """`sshx run --group all [options] --json -- words`: sshx.run.v1, and its results by name."""
        document = self.sshx.json("run", "--group", "all", *options, "--", *words, version="sshx.run.v1", **keywords)
        results = {result["target"]["alias"]: result for result in document["results"]}
        self.assertEqual(list(results), sorted(results))
        counts = document["counts"]
        self.assertEqual(counts["selected"], len(results))
        parts = ("succeeded", "failed", "skipped", "uncertain")
        self.assertEqual(sum(counts[part] for part in parts), counts["selected"])
        self.assertEqual({result["run_id"] for result in results.values()} or {document["run_id"]}, {document["run_id"]})
        return document, results

    def mark(self):
        """A folder on the host; (folder, a command that leaves a file of its own process there and then sleeps)."""
        folder = self.lab.new_directory("m")
        return folder, f"touch {folder}/$$; exec sleep 600"

    def marked(self, folder, count):
        """Waits until that many commands run; their process ids."""
        eventually(lambda: len(os.listdir(folder)) == count, f"{count} commands run")
        return [int(name) for name in os.listdir(folder)]


def line_seen(text):
    """What a terminal shows of a line whose beginning is written over (carriage return)."""
    shown = ""
    for part in text.split("\r"):
        shown = part + shown[len(part) :]
    return shown.rstrip()


class DocumentTest(FanOutCase):
    def test_all_of_a_group_answer_in_one_document(self):
        document, results = self.run_all("echo out; echo err >&2", code=0)
        self.assert_fields(document, success=True, exit_code=0, counts__started=4, counts__succeeded=4)
        for result in results.values():
            self.assert_fields(result, stdout="out\n", stderr="err\n", success=True, plan_hash=document["plan_hash"])
        self.assertEqual(len({result["execution_id"] for result in results.values()}), 4)

    def test_the_shape_follows_the_request_not_the_inventory(self):
        self.sshx.ok("host", "update", "web-1", "--group", "one")
        document = self.sshx.json("run", "--group", "one", "--", "true", code=0, version="sshx.run.v1")
        self.assertEqual(document["counts"]["selected"], 1)
        self.sshx.json("run", "--target", "web-1", "--", "true", code=0, version="sshx.result.v1")
        self.sshx.json("run", "--target", "web-1,web-2", "--", "true", code=0, version="sshx.run.v1")

    def test_an_event_stream_tells_of_each(self):
        done = self.sshx.run("run", "--group", "all", "--jsonl", "--concurrency", "2", "--", "echo $$")
        events = self.sshx.events(done)
        self.assertEqual(events[0]["selected"], 4)
        self.assertEqual(events[-1]["counts"]["succeeded"], 4)
        finished = [event["result"]["target"]["alias"] for event in events if event["event"] == "target_finished"]
        self.assertEqual(sorted(finished), list(self.target_names))

    def test_each_leaves_evidence_of_its_own(self):
        document, results = self.run_all("true", code=0)
        events = self.sshx.json("audit", "query", "--run-id", document["run_id"], code=0)["events"]
        self.assertEqual({event["execution_id"] for event in events}, {r["execution_id"] for r in results.values()})

    # B196
    def test_lines_of_people_begin_with_the_name(self):
        done = self.sshx.ok("run", "--group", "all", "--", "echo one; echo two; echo bad >&2; printf half")
        for name in self.target_names:
            lines = [line for line in done.text.splitlines() if line.startswith(f"{name}: ")]
            self.assertEqual(lines, [f"{name}: one", f"{name}: two", f"{name}: half"])
            self.assertIn(f"{name}: bad\n", done.error_text)
        self.assertEqual(len(done.text.splitlines()), 12)


    def test_what_is_the_same_is_gathered(self):
        folder = self.lab.new_directory("g")
        # The first command to make the folder is another than the rest.
        done = self.sshx.ok(
            "run", "--group", "all", "--gather", "--concurrency", "1", "--",
            f"mkdir {folder}/once 2>/dev/null && echo first || echo later",
        )  # fmt: skip
        self.assertEqual(done.text, "--- web-[2-4] (3): exit 0\nlater\n--- web-1 (1): exit 0\nfirst\n")

    def test_bytes_that_are_no_text_are_gathered_as_they_are(self):
        done = self.sshx.ok("run", "--group", "all", "--gather", "--", r"printf 'a\377b\n'")
        self.assertIn(b"a\xffb\n", done.out)

    def on_a_terminal(self, *words, stdout=None):
        """What a terminal gets that is stderr and, unless another one is given, stdout."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = processes.start(
            [self.sshx.binary, "run", "--group", "all", *words], stdin=subprocess.DEVNULL, stdout=stdout or slave, stderr=slave,
            env=self.sshx.environment, cwd=self.sshx.directory,
        )  # fmt: skip
        self.addCleanup(processes.stop, process)
        os.close(slave)
        shown = b""
        # Reading a terminal whose other end is closed is an error, EIO.
        with contextlib.suppress(OSError):
            while piece := os.read(master, 4096):
                shown += piece
        return shown.decode()

    def test_a_terminal_shows_how_far_it_is(self):
        shown = self.on_a_terminal("--json", "--", "true", stdout=subprocess.DEVNULL)
        self.assertIn("4/4 done", shown)

    def test_a_terminal_shows_how_far_it_is_between_the_lines(self):
        self.add_dead_host("dead")
        shown = self.on_a_terminal("--", "for i in 1 2 3; do echo out-$i; echo err-$i >&2; sleep 0.5; done")
        self.assertRegex(shown, r"\d/5 done, 1 failed, \d running; slowest ")
        seen = [line_seen(line) for line in shown.split("\r\n")]
        for name in self.target_names:
            for stream in ("out", "err"):
                self.assertEqual([f"{name}: {stream}-{i}" for i in (1, 2, 3)], [line for line in seen if line.startswith(f"{name}: {stream}")])
        ours = [line for line in seen if line and not line.startswith("web-")]
        self.assertTrue(all(line.startswith("sshx: ") for line in ours), ours)

    def test_a_preview_is_offline_and_shows_each(self):
        document = self.sshx.json("run", "--group", "all", "--dry-run", "--", "true", code=0, version="sshx.request.v1")
        self.assertEqual([target["alias"] for target in document["targets"]], list(self.target_names))
        done = self.sshx.ok("run", "--group", "all", "--dry-run", "--", "true")
        for name in self.target_names:
            self.assertIn(f"target      {name} (", done.text)

    def test_shards_are_a_partition(self):
        names = []
        for shard in ("1/3", "2/3", "3/3"):
            document = self.sshx.json("run", "--all-hosts", "--shard", shard, "--dry-run", "--", "true", code=0)
            names += [target["alias"] for target in document["targets"]]
        self.assertEqual(sorted(names), list(self.target_names))

    def test_an_empty_shard_is_no_error(self):
        document = self.sshx.json("run", "--all-hosts", "--shard", "7/9", "--", "true", code=0, version="sshx.run.v1")
        self.assert_fields(document, success=True, counts__selected=0, results=[])

    def test_agents_get_one_document_with_and_without_progress(self):
        client = McpClient(self.sshx)
        self.addCleanup(processes.stop, client.running.process)
        for token in (None, "t"):
            document, is_error = client.tool("sshx_run", token=token, groups=["all"], command="echo out")
            self.assertFalse(is_error)
            self.assert_fields(document, schema_version="sshx.run.v1", success=True, counts__succeeded=4)
            self.assertEqual([result["target"]["alias"] for result in document["results"]], list(self.target_names))
        notes = [note["progress"] for note in client.notes("t")]
        self.assertEqual(notes, sorted(set(notes)))
        document, is_error = client.tool("sshx_run", token="u", groups=["all"], command="exit 3")
        self.assertTrue(is_error)
        self.assert_fields(document, success=False, exit_code=1, counts__failed=4)


class TroubleTest(FanOutCase):
    # B195: one dead host never stops the rest, whatever its place in the order.
    def test_a_dead_host_stops_no_other(self):
        for name in ("a-dead", "web-2-dead", "zz-dead"):
            self.add_dead_host(name)
            document, results = self.run_all("true", options=("--concurrency", "1"), code=1)
            self.assert_fields(document, counts__succeeded=4, counts__failed=1)
            self.assert_fields(results[name], error_kind="connect", executed=False)
            self.sshx.ok("host", "remove", name)
        self.add_dead_host("dead")
        document, results = self.run_all("true", code=1)
        self.assert_fields(document, success=False, counts__succeeded=4, counts__failed=1, counts__started=5)
        self.assert_fields(results["dead"], error_kind="connect", error__code="refused", executed=False)

    def test_failures_of_commands_are_each_told(self):
        document, results = self.run_all('test "$SSHX_NEVER" = x || exit 3', code=1)
        self.assertEqual(document["counts"]["failed"], 4)
        for result in results.values():
            self.assert_fields(result, exit_code=3, error_kind="remote_exit", executed=True)

    def test_fail_fast_starts_no_further_target(self):
        document, results = self.run_all("exit 1", options=("--fail-fast", "--concurrency", "1"), code=1)
        self.assert_fields(document, counts__failed=1, counts__skipped=3, counts__started=1)
        self.assert_fields(results["web-4"], status="skipped", executed=False, error_kind="cancelled", error__code="skipped")

    def test_max_failures(self):
        document, _ = self.run_all("exit 1", options=("--max-failures", "2", "--concurrency", "1"), code=1)
        self.assert_fields(document, counts__failed=2, counts__skipped=2)

    # B193: what the time of a host or of the run ends is ended on the host as well.
    def test_the_time_of_a_host_ends_what_runs_there(self):
        folder, command = self.mark()
        document, results = self.run_all(command, options=("--host-timeout", "4s"), code=1)
        self.assert_fields(document, counts__started=4, counts__failed=4)
        self.assert_fields(results["web-1"], error_kind="timeout", error__code="host", remote_state="terminated")
        for pid in self.marked(folder, 4):
            self.assertFalse(processes.is_running(pid))

    def test_the_time_of_the_whole_run_ends_what_runs_and_skips_the_rest(self):
        folder, command = self.mark()
        document, results = self.run_all(command, options=("--global-timeout", "4s", "--concurrency", "2"), code=1)
        self.assert_fields(document, counts__started=2, counts__skipped=2)
        self.assert_fields(results["web-1"], error_kind="timeout", error__code="global", remote_state="terminated")
        for pid in self.marked(folder, 2):
            self.assertFalse(processes.is_running(pid))

    def test_a_cancel_ends_all_that_runs_and_skips_the_rest(self):
        folder, command = self.mark()
        running = self.sshx.start("run", "--group", "all", "--concurrency", "3", "--json", "--", command)
        pids = self.marked(folder, 3)
        running.signal(signal.SIGINT)
        done = running.wait()
        document = self.sshx.document(done, "sshx.run.v1")
        self.assertEqual(done.code, 1)
        self.assert_fields(document, counts__started=3, counts__skipped=1)
        for result in document["results"]:
            if result["status"] != "skipped":
                self.assert_fields(result, error_kind="cancelled", remote_state="terminated", executed=True)
        for pid in pids:
            self.assertFalse(processes.is_running(pid))

    # What the sessions do cannot be seen any more, so the orderly end takes long.
    def test_a_first_signal_tells_what_runs_and_a_second_one_leaves(self):
        folder = self.lab.new_directory("m")
        command = f"touch {folder}/$$; kill -STOP $PPID; exec sleep 600"
        running = self.sshx.start("run", "--group", "all", "--json", "--", command)
        self.marked(folder, 4)
        running.signal(signal.SIGINT)
        running.wait_for(b"; Ctrl-C again to leave\n", "err")
        self.assertRegex(running.so_far("err"), rb"sshx: still running: web-\d \(\d+ s\), web-\d .*; Ctrl-C again to leave\n")
        self.assertFalse(running.has_ended())
        running.signal(signal.SIGINT)
        document = self.sshx.document(running.wait(), "sshx.run.v1")
        self.assert_fields(document, exit_code=1, counts__started=4, counts__succeeded=0)
        for result in document["results"]:
            self.assert_fields(result, error_kind="cancelled", remote_state="unknown")

    def test_a_cancel_while_evidence_is_written_starts_nothing(self):
        self.run_all("true", code=0)
        folder, command = self.mark()
        with contextlib.closing(sqlite3.connect(self.sshx.audit_path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            running = self.sshx.start("run", "--group", "all", "--concurrency", "2", "--jsonl", "--", command)
            running.wait_for(b"run_started")
            running.signal(signal.SIGTERM)
            # Whatever the wait for the store comes to, what it kept waiting must not begin after that.
            events = self.sshx.events(running.wait())
        self.assert_fields(events[-1]["counts"], selected=4, succeeded=0, uncertain=0)
        for event in events:
            if event["event"] == "target_finished":
                self.assert_fields(event["result"], executed=False, error_kind="cancelled")
        self.assertEqual(os.listdir(folder), [])

    def run_without_reader(self, *options, command="echo out; sleep 600"):
        running = self.sshx.start_unread("run", "--group", "all", "--concurrency", "1", *options, "--", command)
        self.addCleanup(running.stop)
        running.go_away()
        return running.end()

    def test_a_reader_that_went_away_keeps_further_targets_from_being_started(self):
        code, errors = self.run_without_reader()
        self.assertEqual(code, 1)
        self.assertEqual(errors.count(b"was not started: nobody reads the output any more"), 3, errors)
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        self.assert_fields(event, executed=True, error_kind="local_io")

    # Events are no output of the command, so what runs goes on; the first target may or may not have been started.
    def test_a_reader_of_events_that_went_away_keeps_further_targets_from_being_started(self):
        code, errors = self.run_without_reader("--jsonl", "--stream", command="echo out")
        self.assertEqual(code, 255)
        self.assertIn(errors.count(b"was not started: nobody reads the output any more"), (3, 4), errors)
        for event in self.sshx.json("audit", "query", code=0)["events"]:
            self.assert_fields(event, outcome="succeeded")

    # B113
    def test_events_tell_of_output_while_others_run(self):
        folder = self.lab.new_directory("g")
        command = f"mkdir {folder}/first 2>/dev/null && echo quick || until test -e {folder}/go; do sleep 0.05; done; echo end"
        running = self.sshx.start("run", "--group", "all", "--jsonl", "--stream", "--", command)
        running.wait_for(b'"data":"quick\\n')
        self.assertNotIn(b"run_finished", running.so_far())
        with open(f"{folder}/go", "w", encoding="ascii"):
            pass
        said = output_of(self.sshx.events(running.wait()))
        self.assertEqual(sorted(said), [(name, "stdout") for name in self.target_names])
        self.assertEqual(sorted(said.values()), [b"end\n"] * 3 + [b"quick\nend\n"])

    def test_the_callers_stdin_is_nobodys_among_many(self):
        document = self.sshx.json("run", "--group", "all", "--stdin", "--", "cat", code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config", error__code="request_conflict")

    def test_given_stdin_goes_to_each(self):
        request = {"groups": ["all"], "command": "cat", "stdin": "same\n"}
        document = self.sshx.json("run", "--request", "-", stdin=json.dumps(request).encode(), code=0)
        self.assertEqual({result["stdout"] for result in document["results"]}, {"same\n"})


class DescriptorTest(FanOutCase):
    """A low limit of open files makes a run slower, or is told; it breaks nothing."""

    target_names = tuple(f"n{number:02}" for number in range(16))

    def run_with(self, limit, **keywords):
        return self.run_all("true", options=("--concurrency", "16"), prefix=("prlimit", f"--nofile={limit}:{limit}"), **keywords)

    def test_fewer_run_at_a_time(self):
        for limit in (40, 64):
            document, _ = self.run_with(limit, code=0)
            self.assert_fields(document, counts__started=16, counts__succeeded=16)

    def test_too_few_for_one(self):
        document, results = self.run_with(30, code=1)
        self.assert_fields(document, counts__started=0, counts__skipped=16)
        self.assert_mentions(results["n00"]["error"]["message"], "n00 was not started", "limit of open files (ulimit -n)")


class PerAddressTest(FanOutCase):
    # B110: without waiting to be turned away.
    def test_an_address_gets_no_more_connections_than_it_may(self):
        folder = self.lab.new_directory("c")
        command = f"touch {folder}/$$; ls {folder} | wc -l; sleep 0.3; rm {folder}/$$"
        for limit in (1, 2):
            options = ("--concurrency", "4", "--per-address", limit)
            document, results = self.run_all(command, options=options, code=0)
            self.assertLessEqual(max(int(result["stdout"]) for result in results.values()), limit)
            self.assert_fields(results["web-1"], limits__per_address=limit, limits__concurrency=4)
            self.assertEqual(document["counts"]["succeeded"], 4)

    def test_the_plan_has_it(self):
        hashes = set()
        for options in ((), ("--per-address", "1"), ("--per-address", "2")):
            document = self.sshx.json("run", "--group", "all", "--dry-run", *options, "--", "true", code=0)
            hashes.add(document["plan"]["plan_hash"])
        self.assertEqual(len(hashes), 3)


class LinesTest(FanOutCase):
    """B008: many hosts say much on both streams, and no line of one gets into a line of another."""

    target_names = tuple(f"a-{number}-b-{number % 3}-c" for number in range(16))
    command = "for i in $(seq 1000); do echo out-$i; echo err-$i >&2; done"

    def test_lines_of_people_are_whole(self):
        done = self.sshx.ok("run", "--group", "all", "--concurrency", "16", "--", self.command)
        for stream, word in ((done.text, "out"), (done.error_text, "err")):
            lines = [line for line in stream.splitlines() if not line.startswith("sshx: ")]
            self.assertEqual(len(lines), 16000)
            for name in self.target_names:
                own = [line for line in lines if line.startswith(f"{name}: ")]
                self.assertEqual(own, [f"{name}: {word}-{number}" for number in range(1, 1001)])

    def test_events_keep_the_order_of_each_stream(self):
        done = self.sshx.ok("run", "--group", "all", "--concurrency", "16", "--jsonl", "--stream", "--", self.command)
        said = output_of(self.sshx.events(done))
        self.assertEqual(len(said), 32)
        for (_, stream), content in said.items():
            word = stream[3:] if stream == "stdout" else "err"
            self.assertEqual(content, b"".join(b"%s-%d\n" % (word.encode(), number) for number in range(1, 1001)))


class CrowdedServerTest(FanOutCase):
    server_options = {"config": ("MaxStartups 2:100:2",)}
    target_names = tuple(f"n{number:02}" for number in range(24))

    # B110: what the server turns away before its banner is tried again, more gently.
    def test_a_server_that_turns_connections_away_is_tried_again(self):
        document, _ = self.run_all("true", options=("--concurrency", "24", "--connect-timeout", "60s"), timeout=120)
        self.assertEqual(document["counts"]["succeeded"], 24, [r["error"] for r in document["results"] if r["error"]])


if __name__ == "__main__":
    unittest.main()
