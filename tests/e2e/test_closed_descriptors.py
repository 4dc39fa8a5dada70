"""Standard streams that are closed, or that cannot be replaced: no file of ours may take their numbers (B173)."""

import contextlib
import glob
import itertools
import os
import sqlite3
import unittest

from tests.lab import TargetCase, evidence
from tests.lab.worlds import empty_folder, world

_COMBINATIONS = [
    closed for count in (1, 2, 3) for closed in itertools.combinations(("<&-", ">&-", "2>&-"), count)
]


def _closing(redirections):
    return ("sh", "-c", f'exec "$@" {" ".join(redirections)}', "sh")


class ClosedDescriptorsTest(TargetCase):
    def assert_store_is_whole(self, records):
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), records)
        with contextlib.closing(sqlite3.connect(f"file:{self.sshx.audit_path}?mode=ro", uri=True)) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_a_run_keeps_its_status_and_writes_into_nothing_else(self):
        command = "cat; echo needle-out; echo needle-err >&2; exit 9"
        for number, closed in enumerate(_COMBINATIONS, start=1):
            for presentation in ((), ("--json",)):
                with self.subTest(closed=closed, presentation=presentation):
                    done = self.sshx.expect(
                        9, "run", "--target", "target", "--stdin", *presentation, "--", command,
                        prefix=_closing(closed),
                    )  # fmt: skip
                    if ">&-" not in closed:
                        self.assertIn(b"needle-out\n" if not presentation else b'"stdout":"needle-out\\n"', done.out)
                    elif "2>&-" not in closed and not presentation:
                        self.assertEqual(done.err, b"needle-err\n")
            self.assert_store_is_whole(records=4 * number)
        for path in (*glob.glob(self.sshx.audit_path + "*"), self.sshx.hosts_path, self.sshx.known_hosts_path):
            with open(path, "rb") as file:
                content = file.read()
            # The command that the evidence holds has neither with a line feed after it.
            self.assertNotIn(b"needle-out\n", content, path)
            self.assertNotIn(b"needle-err\n", content, path)

    def test_changes_of_files_stay_whole(self):
        for number, closed in enumerate(_COMBINATIONS):
            with self.subTest(closed):
                self.sshx.ok("host", "add", f"h{number}", "--address", "10.0.0.1", prefix=_closing(closed))
        self.assertEqual(self.sshx.json("host", "list", code=0)["count"], 1 + len(_COMBINATIONS))

    def test_trust_without_streams(self):
        self.sshx.trust()
        fingerprint = self.server.host_keys[self.server.options.host_key_kinds[0]].fingerprint
        self.sshx.ok("host", "trust", "target", "--fingerprint", fingerprint, prefix=_closing(("<&-", ">&-", "2>&-")))
        self.assertEqual(self.sshx.known_hosts().count("\n"), 1)
        self.run_json("true", code=0)

    def test_where_nothing_can_take_a_closed_stream_s_place(self):
        # Without /dev/null the next file that is opened would get the number 1, and the document with it.
        before = self.server.connections()
        for closed in _COMBINATIONS:
            with self.subTest(closed):
                no_devices = world(empty_folder("/dev"), f'exec "$@" {" ".join(closed)}')
                self.sshx.expect(255, "run", "--target", "target", "--json", "--", "true", prefix=no_devices)
        self.assertEqual(self.server.connections(), before)
        self.assertFalse(os.path.exists(self.sshx.audit_path))

    def test_open_streams_need_no_devices(self):
        self.assert_fields(self.run_json("true", code=0, prefix=world(empty_folder("/dev"))), audit_status="written")


class OddStreamsTest(TargetCase):
    def test_streams_that_go_the_wrong_way(self):
        # stdin open for writing only, stdout for reading only: what cannot be delivered is an error, not a success.
        path = os.path.join(self.sshx.directory, "file")
        with open(path, "wb"):
            pass
        for redirection in (f"<{path} 1<{path}", f"1<{path}"):
            with self.subTest(redirection):
                done = self.sshx.run(
                    "run", "--target", "target", "--json", "--", "true",
                    prefix=("sh", "-c", f'exec "$@" {redirection}', "sh"),
                )  # fmt: skip
                self.assertEqual(done.code, 255, done)
                self.assert_mentions(done.error_text, "standard output", "bad file descriptor")

    def test_many_open_descriptors_do_no_harm(self):
        done = self.sshx.expect(
            4, "run", "--target", "target", "--", "exit 4",
            prefix=("sh", "-c", 'ulimit -n 4096; for i in 3 4 5 6 7 8 9; do eval "exec $i</dev/null"; done; exec "$@"',
                    "sh"),
        )  # fmt: skip
        self.assertEqual(done.out, b"")


if __name__ == "__main__":
    unittest.main()
