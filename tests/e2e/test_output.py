"""Output and how a command ended: every byte, caps with head and tail, missing status, signals, lost connections."""

import array
import base64
import fcntl
import os
import termios
import unittest

from tests.lab import TargetCase, eventually
from tests.lab.facts import size_in_document, stream
from tests.lab.measure import PeakMemory, is_instrumented
from tests.lab.processes import is_running
from tests.lab.scripted_case import ScriptedCase

_MIB = 1 << 20
# What a bounded run may take beside what it keeps (B006).
_RSS_ALLOWANCE_KIB = 32 * 1024


class BinaryOutputTest(TargetCase):
    # B009
    def test_bytes_that_are_not_utf8_come_as_base64(self):
        document = self.run_json(r"printf '\351\0\377ok\n'", code=0)
        self.assert_fields(document, stdout_encoding="base64", stdout_bytes=6, stderr_encoding="utf-8")
        self.assertEqual(base64.b64decode(document["stdout"], validate=True), b"\xe9\x00\xffok\n")

    def test_every_byte_value_survives(self):
        source = os.path.join(self.sshx.directory, "bytes")
        content = bytes(range(256)) * 17
        with open(source, "wb") as file:
            file.write(content)
        document = self.run_json(f"cat {source}; cat {source} >&2", code=0)
        self.assertEqual(stream(document, "stdout"), content)
        self.assertEqual(stream(document, "stderr"), content)
        self.assertEqual(self.sshx.ok("run", "--target", "target", "--", f"cat {source}").out, content)

    def test_invalid_utf8_of_every_kind_is_base64(self):
        for name, content in {
            "surrogate": b"\xed\xa0\x80",
            "overlong": b"\xc0\xaf",
            "beyond": b"\xf4\x90\x80\x80",
            "cut short": b"ok\xe2\x82",
            "stray": b"\x80",
        }.items():
            with self.subTest(name):
                escaped = "".join(f"\\{byte:03o}" for byte in content)
                document = self.run_json(f"printf '{escaped}'", code=0)
                self.assertEqual(document["stdout_encoding"], "base64")
                self.assertEqual(stream(document, "stdout"), content)

    def test_control_characters_stay_utf8_and_exact(self):
        document = self.run_json(r"printf '\033[2J\033]0;x\007\177\302\233a\tb\r\n\000'", code=0)
        self.assertEqual(stream(document, "stdout"), b"\x1b[2J\x1b]0;x\x07\x7f\xc2\x9ba\tb\r\n\x00")

    def test_empty_output(self):
        self.assert_fields(self.run_json("true", code=0), stdout="", stdout_encoding="utf-8", stdout_bytes=0)


class VolumeTest(TargetCase):
    # B006, B007
    def test_both_streams_full_at_once(self):
        command = "dd if=/dev/zero bs=1M count=64 status=none & dd if=/dev/zero bs=1M count=64 status=none >&2; wait"
        peak = PeakMemory(self.sshx.directory)
        document = self.run_json(
            command, options=("--max-output-bytes", "1M"), code=0, timeout=120,
            prefix=peak.prefix,
        )  # fmt: skip
        self.assert_fields(
            document,
            stdout_bytes=64 * _MIB,
            stderr_bytes=64 * _MIB,
            stdout_truncated=True,
            stderr_truncated=True,
            completion="completed",
        )
        if not is_instrumented():
            self.assertLess(peak.kib(), 2 * 1024 + _RSS_ALLOWANCE_KIB)

    def test_text_mode_streams_everything(self):
        command = "dd if=/dev/zero bs=1M count=24 status=none & dd if=/dev/zero bs=1M count=24 status=none >&2; wait"
        done = self.sshx.ok(
            "run", "--target", "target", "--max-output-bytes", "1K", "--", command, timeout=120
        )
        self.assertEqual((len(done.out), len(done.err)), (24 * _MIB, 24 * _MIB))

    # B011
    def test_one_huge_line(self):
        document = self.run_json(
            "head -c 64M /dev/zero | tr '\\0' a", options=("--max-output-bytes", "1M"), code=0, timeout=120
        )
        self.assert_fields(document, stdout_bytes=64 * _MIB, stdout_truncated=True)
        self.assertEqual(set(document["stdout"]), {"a"})

    def test_nothing_but_line_feeds(self):
        document = self.run_json(
            "head -c 32M /dev/zero | tr '\\0' '\\n'", options=("--max-output-bytes", "1M"), code=0, timeout=120
        )
        self.assert_fields(document, stdout_bytes=32 * _MIB, stdout_truncated=True)
        self.assertEqual(set(document["stdout"]), {"\n"})

    # B199
    def test_a_reader_that_pauses_gets_everything(self):
        read_end, write_end = os.pipe()
        capacity = fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ)
        running = self.sshx.start(
            "run", "--target", "target", "--", "head -c 30M /dev/zero", prefix=("sh", "-c", f'exec "$@" >&{write_end}', "-"),
            pass_fds=(write_end,),
        )  # fmt: skip
        os.close(write_end)

        def filled():
            waiting = array.array("i", [0])
            fcntl.ioctl(read_end, termios.FIONREAD, waiting)
            return waiting[0] == capacity

        eventually(filled, "nobody reads and the pipe is full")
        total = 0
        with os.fdopen(read_end, "rb") as pipe:
            while chunk := pipe.read(_MIB):
                total += len(chunk)
        self.assertEqual(running.wait().code, 0)
        self.assertEqual(total, 30 * _MIB)

    def test_a_reader_that_goes_away_ends_the_run(self):
        mark = os.path.join(self.sshx.directory, "pid")
        read_end, write_end = os.pipe()
        running = self.sshx.start(
            "run", "--target", "target", "--", f"echo $$ > {mark}; exec yes",
            prefix=("sh", "-c", f'exec "$@" >&{write_end}', "-"), pass_fds=(write_end,),
        )  # fmt: skip
        os.close(write_end)
        self.assertTrue(os.read(read_end, 2))
        os.close(read_end)
        self.assertEqual(running.wait().code, 255)
        with open(mark, encoding="ascii") as file:
            remote = int(file.read())
        eventually(lambda: not is_running(remote), "the remote command is gone")


class CapTest(TargetCase):
    # B013
    def test_head_and_tail_are_kept(self):
        whole = "".join(f"{number}\n" for number in range(1, 100001)).encode("ascii")
        document = self.run_json("seq 1 100000", options=("--max-output-bytes", "64K"), code=0)
        kept = stream(document, "stdout")
        self.assert_fields(
            document, stdout_truncated=True, stdout_bytes=len(whole), stdout_omitted_bytes=len(whole) - len(kept)
        )
        at, omitted = document["stdout_omitted_at"], document["stdout_omitted_bytes"]
        self.assertTrue(0 < at < len(kept), at)
        self.assertTrue(kept == whole[:at] + whole[at + omitted :], (at, omitted, kept[at - 20 : at + 20]))
        self.assertLessEqual(size_in_document(document, "stdout"), 65536)
        self.assertGreater(len(kept), 32768)

    def test_cap_counts_bytes_as_encoded(self):
        for name, command in {
            "escaped": "head -c 200000 /dev/zero",
            "base64": "head -c 200000 /dev/zero | tr '\\0' '\\377'",
            "quotes": "head -c 200000 /dev/zero | tr '\\0' '\\042'",
            "plain": "head -c 200000 /dev/zero | tr '\\0' a",
        }.items():
            with self.subTest(name):
                document = self.run_json(command, options=("--max-output-bytes", "30000"), code=0)
                self.assert_fields(document, stdout_bytes=200000, stdout_truncated=True)
                self.assertLessEqual(size_in_document(document, "stdout"), 30000)
                self.assertEqual(len(stream(document, "stdout")), 200000 - document["stdout_omitted_bytes"])
                self.assertGreater(size_in_document(document, "stdout"), 20000)

    def test_a_cut_inside_a_character_breaks_no_character(self):
        document = self.run_json(
            "yes äöü€😀 | head -n 20000", options=("--max-output-bytes", "10001"), code=0
        )
        self.assert_fields(document, stdout_encoding="utf-8", stdout_truncated=True)
        self.assertNotIn("\ufffd", document["stdout"])

    def test_output_of_exactly_the_cap_is_not_truncated(self):
        for size, truncated in ((1000, False), (1001, True)):
            with self.subTest(size=size):
                document = self.run_json(
                    f"head -c {size} /dev/zero | tr '\\0' a", options=("--max-output-bytes", "1000"), code=0
                )
                self.assert_fields(document, stdout_bytes=size, stdout_truncated=truncated)

    def test_cap_of_zero_keeps_nothing_and_counts_all(self):
        document = self.run_json("echo abc", options=("--max-output-bytes", "0"), code=0)
        self.assert_fields(
            document, stdout="", stdout_bytes=4, stdout_truncated=True, stdout_omitted_bytes=4, stderr_truncated=False
        )

    def test_caps_of_the_streams_are_apart(self):
        document = self.run_json("seq 1 5000; echo one >&2", options=("--max-output-bytes", "1000"), code=0)
        self.assert_fields(document, stdout_truncated=True, stderr="one\n", stderr_truncated=False)

    # B013
    def test_endless_output_ends_at_the_deadline(self):
        mark = os.path.join(self.sshx.directory, "pid")
        document = self.run_json(
            f"echo $$ > {mark}; exec yes", options=("--timeout", "1s", "--max-output-bytes", "64K"), code=255
        )
        self.assert_fields(document, error_kind="timeout", stdout_truncated=True, executed=True, completion="partial")
        with open(mark, encoding="ascii") as file:
            remote = int(file.read())
        eventually(lambda: not is_running(remote), "the remote `yes` is gone")


class EndOfCommandTest(ScriptedCase):
    # B001
    def test_output_after_the_exit_status_is_not_lost(self):
        out, err = os.urandom(300 * 1024), os.urandom(10 * 1024)
        seeds = iter(range(1000))

        def script(exchange):
            exchange.exit_status(3)
            exchange.stdout_split(out, next(seeds))
            exchange.stderr_split(err, next(seeds))
            exchange.end_of_file()
            exchange.close()

        self.scripted(script)
        for _ in range(25):
            document = self.run_fake(code=3)
            self.assertEqual(stream(document, "stdout"), out)
            self.assertEqual(stream(document, "stderr"), err)
            self.assert_fields(document, exit_code=3, completion="completed")

    # B008
    def test_streams_mixed_in_small_packets_keep_their_order(self):
        lines = [b"%06d\n" % number for number in range(500)]

        def script(exchange):
            for line in lines:
                exchange.stdout(line)
                exchange.stderr(line)
            exchange.exit_status(0)
            exchange.close()

        self.scripted(script)
        document = self.run_fake(code=0)
        self.assertEqual(stream(document, "stdout"), b"".join(lines))
        self.assertEqual(stream(document, "stderr"), b"".join(lines))

    # B009
    def test_a_character_split_over_two_packets_stays_whole(self):
        def script(exchange):
            exchange.stdout(b"<\xf0\x9f")
            exchange.stdout(b"\x98\x80>")
            exchange.exit_status(0)
            exchange.close()

        self.scripted(script)
        self.assert_fields(self.run_fake(code=0), stdout="<😀>", stdout_encoding="utf-8")

    def test_status_after_end_of_file_counts(self):
        def script(exchange):
            exchange.stdout(b"x")
            exchange.end_of_file()
            exchange.exit_status(4)
            exchange.close()

        self.scripted(script)
        self.assert_fields(self.run_fake(code=4), exit_code=4, stdout="x", completion="completed")

    # Statuses above 255 exist on the wire; their low byte could read as success.
    def test_a_status_above_255(self):
        for status in (256, 300, 0xFFFFFFFF):
            with self.subTest(status=status):
                self.sshx = self.lab.sshx()
                self.scripted(lambda exchange, status=status: (exchange.exit_status(status), exchange.close()))
                self.assert_fields(self.run_fake(code=255), success=False, error_kind="remote_exit", exit_code=status)

    # B002
    def test_close_without_status_is_no_success(self):
        def script(exchange):
            exchange.stdout(b"kept\n")
            exchange.end_of_file()
            exchange.close()

        self.scripted(script)
        document = self.run_fake(code=255)
        self.assert_fields(
            document,
            success=False,
            status="failed",
            exit_code=-1,
            error__kind="exit_missing",
            error__code="closed",
            completion="completed_unconfirmed",
            executed=True,
            remote_state="unknown",
            stdout="kept\n",
        )
        done = self.sshx.expect(255, "run", "--target", "fake", "--", "work")
        self.assertEqual(done.out, b"kept\n")
        self.assertTrue(done.err.startswith(b"sshx: "), done)

    def test_close_without_anything_is_no_success(self):
        self.scripted(lambda exchange: exchange.close())
        self.assert_fields(self.run_fake(code=255), success=False, error_kind="exit_missing", stdout="")


class DaemonTest(TargetCase):
    # Design §7: a daemon that holds the stream is left alone.
    def test_a_daemon_that_holds_the_output_is_left_alone(self):
        mark = os.path.join(self.sshx.directory, "pid")
        document = self.run_json(f"sleep 600 & echo $! > {mark}; echo begun", code=0)
        self.assert_fields(document, stdout="begun\n", warnings=["output still open"], completion="completed")
        with open(mark, encoding="ascii") as file:
            self.assertTrue(is_running(int(file.read())))

    def test_output_of_a_detached_process_that_still_comes_is_waited_for(self):
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        running = self.sshx.start(
            "run", "--target", "target", "--", f"(read line < {gate}; echo $line) & echo begun; echo ready > {gate}"
        )
        self.assertEqual(sorted(running.wait().out.split()), [b"begun", b"ready"])


class SignalTest(ScriptedCase):
    # B003
    def test_signal_and_status_137_differ(self):
        server = self.lab.server()
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("target", server, identity=self.lab.key())
        killed = self.sshx.json("run", "--target", "target", "--", "kill -KILL $$", code=137)
        self.assert_fields(
            killed,
            exit_code=-1,
            signal="KILL",
            success=False,
            error__kind="remote_exit",
            error__code="signal",
            completion="completed",
            remote_state="exited",
        )
        exited = self.sshx.json("run", "--target", "target", "--", "exit 137", code=137)
        self.assert_fields(exited, exit_code=137, signal=None, error__code="status", core_dumped=None)

    def test_each_signal_gives_128_plus_its_number(self):
        for name, number in {"HUP": 1, "INT": 2, "ABRT": 6, "SEGV": 11, "PIPE": 13, "TERM": 15, "USR1": 10}.items():
            with self.subTest(name):
                self.sshx = self.lab.sshx()
                self.scripted(lambda exchange, name=name: (exchange.exit_signal(name), exchange.close()))
                self.assert_fields(self.run_fake(code=128 + number), signal=name, exit_code=-1, success=False)

    def test_core_dump_is_told(self):
        self.scripted(lambda exchange: (exchange.exit_signal("SEGV", core_dumped=True), exchange.close()))
        # What the server said must not be turned into its opposite.
        self.assertIn(self.run_fake(code=139)["core_dumped"], (True, None))

    def test_signal_of_a_private_name_is_no_success(self):
        for name in ("RTMIN@example.com", "SIG@openssh.com", "WEIRD", ""):
            with self.subTest(name):
                self.sshx = self.lab.sshx()
                self.scripted(
                    lambda exchange, name=name: (exchange.stdout(b"x"), exchange.exit_signal(name), exchange.close())
                )
                done = self.sshx.run("run", "--target", "fake", "--json", "--", "work")
                document = self.sshx.document(done)
                self.assertNotEqual(done.code, 0)
                self.assert_fields(document, success=False, exit_code=-1, stdout="x", error_kind="remote_exit")

    def test_signal_name_with_prefix_and_a_status_beside_it(self):
        self.scripted(lambda exchange: (exchange.exit_signal("SIGTERM"), exchange.close()))
        self.assert_fields(self.run_fake(code=143), signal="TERM", success=False)

    def test_a_hostile_signal_name_is_inert_in_text(self):
        self.scripted(lambda exchange: (exchange.exit_signal("\x1b]0;evil\x07"), exchange.close()))
        done = self.sshx.run("run", "--target", "fake", "--", "work")
        self.assertNotEqual(done.code, 0)
        self.assertNotIn(b"\x1b", done.err)


class LostConnectionTest(ScriptedCase):
    # B202
    def assert_lost(self, document):
        self.assert_fields(
            document,
            success=False,
            exit_code=-1,
            error__kind="connection_lost",
            executed=True,
            completion="unknown",
            remote_state="unknown",
            change_state="unknown",
        )
        self.assertNotEqual(document["error"]["retry_safety"], "safe")

    def test_reset_after_the_exec_request(self):
        server = self.scripted(lambda exchange: (exchange.stdout(b"begun\n"), exchange.drop_connection()))
        self.assert_lost(self.run_fake(code=255))
        self.assertEqual(server.commands, [b"work"], "the command must not be sent twice")

    def test_end_of_stream_after_the_exec_request(self):
        server = self.scripted(lambda exchange: (exchange.stdout(b"begun\n"), exchange.disconnect()))
        document = self.run_fake(code=255)
        self.assert_lost(document)
        self.assert_fields(document, stdout="begun\n", error__code="closed")
        self.assertEqual(server.commands, [b"work"])

    def test_a_server_that_is_killed(self):
        server = self.lab.server()
        self.sshx.trust(server.known_hosts_line())
        self.sshx.add_host("target", server, identity=self.lab.key())
        gate = os.path.join(self.sshx.directory, "gate")
        os.mkfifo(gate)
        running = self.sshx.start(
            "run", "--target", "target", "--", f"echo hello; read line < {gate}; kill -9 $PPID; sleep 60"
        )
        # Only what the server has passed on can be kept, so it must not die before.
        running.wait_for(b"hello\n")
        with open(gate, "w", encoding="ascii") as file:
            file.write("now\n")
        done = running.wait()
        self.assertEqual((done.code, done.out), (255, b"hello\n"), done)
        (event,) = self.sshx.json("audit", "query", code=0)["events"]
        self.assert_fields(event, error_kind="connection_lost", executed=True, completion="unknown")


class ExecReplyTest(ScriptedCase):
    # B094
    def test_refused_exec_has_not_run(self):
        self.scripted(accept_exec=False)
        self.assert_fields(
            self.run_fake(code=255),
            error__kind="protocol",
            error__code="exec_refused",
            executed=False,
            completion="not_started",
            remote_state="not_started",
            exit_code=-1,
        )

    # B021
    def test_unanswered_exec_is_unknown_and_never_not_started(self):
        server = self.scripted(accept_exec="never")
        document = self.run_fake("--timeout", "1s", code=255)
        self.assert_fields(
            document, error__kind="timeout", executed=None, completion="unknown", remote_state="unknown", exit_code=-1
        )
        self.assertNotEqual(document["error"]["retry_safety"], "safe")
        self.assertEqual(server.commands, [b"work"])


if __name__ == "__main__":
    unittest.main()
