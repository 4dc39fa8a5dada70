"""What comes late, what never ends, and what is too much: tails, daemons, odd extended data, a gibibyte."""

import os
import unittest

from tests.lab import TargetCase, eventually
from tests.lab.facts import stream
from tests.lab.measure import PeakMemory, is_instrumented
from tests.lab.processes import is_running
from tests.lab.scripted_case import ScriptedCase
from tests.lab.scripted_server import CHANNEL_EOF

_MIB = 1 << 20
_WINDOW = 4 * _MIB
_STREAMED_RSS_KIB = 40 * 1024
_CAPPED_RSS_KIB = 2 * 1024 + 32 * 1024


class LargeOutputTest(TargetCase):
    # B006, B011: memory does not grow with the output.
    def test_a_gibibyte_is_streamed(self):
        size = 64 * _MIB if is_instrumented() else 1024 * _MIB
        peak = PeakMemory(self.sshx.directory)
        running = self.sshx.start(
            "run", "--target", "target", "--timeout", "300s", "--", f"head -c {size} /dev/zero",
            prefix=("sh", "-c", '{ "$@"; echo $? >&2; } | wc -c', "-", *peak.prefix),
        )  # fmt: skip
        done = running.wait(timeout=330)
        self.assertEqual((done.out, done.err), (b"%d\n" % size, b"0\n"))
        if not is_instrumented():
            self.assertLess(peak.kib(), _STREAMED_RSS_KIB)

    # B006, B013
    def test_much_output_is_capped_in_a_document(self):
        size = 32 * _MIB if is_instrumented() else 256 * _MIB
        peak = PeakMemory(self.sshx.directory)
        document = self.run_json(
            f"head -c {size} /dev/zero", options=("--max-output-bytes", "1M", "--timeout", "300s"), code=0, timeout=330,
            prefix=peak.prefix,
        )  # fmt: skip
        self.assert_fields(document, stdout_bytes=size, stdout_truncated=True, completion="completed")
        self.assertEqual(len(stream(document, "stdout")) + document["stdout_omitted_bytes"], size)
        if not is_instrumented():
            self.assertLess(peak.kib(), _CAPPED_RSS_KIB)


class SlowReaderTest(ScriptedCase):
    # B001, B199: what our own reader takes is no silence of the server's, even when the exit is known already.
    def test_a_pause_of_the_reader_after_the_exit_status_loses_nothing(self):
        size = 3 * _MIB

        def script(exchange):
            exchange.exit_status(3)
            for _ in range(size // 32768):
                exchange.stdout(bytes(32768))
            exchange.end_of_file()
            exchange.close()

        self.scripted(script)
        # The pause is what is tested: longer than the silence that ends a run, and than the command's timeout.
        done = self.sshx.run(
            "run", "--target", "fake", "--timeout", "1s", "--", "work",
            prefix=("sh", "-c", '{ "$@"; echo $? >&2; } | { sleep 3; wc -c; }', "-"),
        )  # fmt: skip
        self.assertEqual((done.out, done.err), (b"%d\n" % size, b"3\n"))


class DaemonTest(TargetCase):
    # Design §7: what ended is not called late because something else goes on printing.
    def test_a_daemon_that_goes_on_printing_is_no_timeout(self):
        for status in (0, 3):
            with self.subTest(status=status):
                document = self.run_json(
                    f"(while :; do echo tick; sleep 0.05; done) & exit {status}",
                    options=("--timeout", "3s"), code=status,
                )  # fmt: skip
                self.assert_fields(
                    document,
                    exit_code=status,
                    success=status == 0,
                    error_kind="remote_exit" if status else None,
                    completion="completed",
                    remote_state="exited",
                    warnings=["output still open"],
                )

    def test_a_daemon_that_closes_its_streams_is_not_waited_for(self):
        mark = os.path.join(self.sshx.directory, "pid")
        document = self.run_json(f"sleep 600 > /dev/null 2>&1 & echo $! > {mark}; echo begun", code=0)
        self.assert_fields(document, stdout="begun\n", warnings=[], completion="completed")
        with open(mark, encoding="ascii") as file:
            self.assertTrue(is_running(int(file.read())))


class TailTest(ScriptedCase):
    # B001: also behind a signal, and when the client has time to look in between.
    def test_output_after_the_end_is_not_lost(self):
        ends = {
            "status": (lambda exchange: exchange.exit_status(3), 3),
            "signal": (lambda exchange: exchange.exit_signal("TERM"), 143),
        }
        for name, (end, code) in ends.items():
            with self.subTest(name):
                self.sshx = self.lab.sshx()
                out, err = os.urandom(200 * 1024), os.urandom(20 * 1024)

                def script(exchange, end=end, out=out, err=err):
                    end(exchange)
                    exchange.ask()
                    exchange.stdout_split(out, 1)
                    exchange.ask()
                    exchange.stderr_split(err, 2)
                    exchange.end_of_file()
                    exchange.ask()
                    exchange.close()

                self.scripted(script)
                document = self.run_fake(code=code)
                self.assertEqual((stream(document, "stdout"), stream(document, "stderr")), (out, err))
                self.assert_fields(document, completion="completed", warnings=[])

    def test_the_status_behind_the_end_of_file_is_waited_for(self):
        def script(exchange):
            exchange.stdout(b"x")
            exchange.end_of_file()
            for _ in range(5):
                exchange.ask()
            exchange.exit_status(4)
            exchange.close()

        self.scripted(script)
        self.assert_fields(self.run_fake(code=4), exit_code=4, stdout="x", completion="completed")

    # B007: nobody reads it, but it takes from the window that stdout needs too.
    def test_extended_data_of_an_unknown_type_does_not_use_up_the_window(self):
        def script(exchange):
            exchange.within_window(bytes(_WINDOW + _MIB), extended=7)
            exchange.within_window(b"end\n")
            exchange.exit_status(0)
            exchange.end_of_file()
            exchange.close()

        self.scripted(script)
        document = self.run_fake("--timeout", "20s", code=0)
        self.assert_fields(document, stdout="end\n", stdout_bytes=4, stderr_bytes=0, warnings=[])

    # B006, B007: more than a window on both streams, with a server that keeps to it.
    def test_the_window_is_opened_again_on_both_streams(self):
        out, err = os.urandom(2 * _WINDOW), os.urandom(2 * _WINDOW)

        def script(exchange):
            exchange.within_window(out)
            exchange.within_window(err, extended=1)
            exchange.exit_status(0)
            exchange.end_of_file()
            exchange.close()

        self.scripted(script)
        document = self.run_fake("--max-output-bytes", "64M", "--timeout", "120s", code=0, timeout=150)
        self.assertTrue(stream(document, "stdout") == out and stream(document, "stderr") == err)


class HeldInputTest(ScriptedCase):
    # B005: some servers take the client's EOF for its leaving, and drop output that has not begun.
    def test_input_that_is_held_open_keeps_the_output(self):
        def script(exchange):
            for _ in range(10):
                exchange.ask()
            if CHANNEL_EOF not in server.received:
                exchange.stdout(b"worth waiting for\n")
            exchange.exit_status(0)
            exchange.end_of_file()
            exchange.close()

        server = self.scripted(script)
        document = self.run_fake("--stdin-hold", code=0)
        self.assert_fields(document, stdout="worth waiting for\n", success=True, completion="completed")

    def test_without_it_the_input_ends_at_once(self):
        def script(exchange):
            eventually(lambda: CHANNEL_EOF in server.received, "the client's EOF")
            exchange.exit_status(0)
            exchange.close()

        server = self.scripted(script)
        self.assert_fields(self.run_fake(code=0), stdout="", success=True)


class NoTerminalTest(TargetCase):
    # B012
    def test_a_pager_does_not_wait_for_a_key(self):
        document = self.run_json("seq 1 2000 | more; test -t 0 || test -t 1 || test -t 2; echo $?", code=0)
        lines = document["stdout"].splitlines()
        self.assertEqual(lines, [*(str(number) for number in range(1, 2001)), "1"])


class HeldInputOnSshdTest(TargetCase):
    # B005, B192
    def test_a_command_that_reads_waits_until_the_deadline(self):
        document = self.run_json("echo begun; cat; echo end", options=("--stdin-hold", "--timeout", "2s"), code=255)
        self.assert_fields(document, stdout="begun\n", error_kind="timeout", executed=True)

    def test_a_command_that_does_not_read_ends_as_ever(self):
        self.assert_fields(self.run_json("echo end", options=("--stdin-hold",), code=0), stdout="end\n", success=True)


if __name__ == "__main__":
    unittest.main()
