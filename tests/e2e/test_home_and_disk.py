"""The caller's side in bad shape: no home, somebody else's, read-only or unreadable folders, full disks (B173)."""

import os
import stat
import unittest

from tests.lab import TargetCase, evidence
from tests.lab.worlds import NOBODY, full, instead_of, read_only, world

_BARE = {
    name: None
    for name in ("HOME", "PATH", "LANG", "SSHX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME",
                 "XDG_CACHE_HOME")  # fmt: skip
}


class WorldCase(TargetCase):
    """Some ways to run it in a world, and a folder that is home in a scratch user database."""

    def setUp(self):
        super().setUp()
        self.account_home = self.folder("account")
        self.accounts = self.file("accounts", f"me:x:0:0::{self.account_home}:/bin/sh\n")

    def folder(self, name):
        path = os.path.join(self.sshx.directory, name)
        os.makedirs(path, mode=0o700)
        return path

    def file(self, name, content=""):
        path = os.path.join(self.sshx.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def flags(self, *more):
        """All that a run needs, named on the command line."""
        return (
            "--address", f"{self.server.user}@{self.server.address}:{self.server.port}",
            "--identity", self.lab.key().path, "--known-hosts", self.sshx.known_hosts_path, *more,
        )  # fmt: skip

    def homeless(self):
        """A user without an entry in the user database."""
        return world(instead_of("/etc/passwd", self.file("nobody")), uid=NOBODY)

    def with_account(self):
        return world(instead_of("/etc/passwd", self.accounts))

    def fingerprint(self):
        return self.server.host_keys[self.server.options.host_key_kinds[0]].fingerprint

    def trust_in(self, home):
        os.makedirs(os.path.join(home, ".ssh"), mode=0o700, exist_ok=True)
        with open(os.path.join(home, ".ssh", "known_hosts"), "w", encoding="ascii") as file:
            file.write(self.server.known_hosts_line() + "\n")


class NoHomeTest(WorldCase):
    def test_a_run_needs_nothing_but_flags(self):
        store = os.path.join(self.folder("evidence"), "audit.db")
        done = self.sshx.run(
            "run", *self.flags("--audit", "required", "--audit-db", store), "--json", "--", "exit 7",
            environment=_BARE, prefix=self.homeless(),
        )  # fmt: skip
        self.assertEqual(done.code, 7, done)
        self.assert_fields(self.sshx.document(done), audit_status="written", warnings=[])
        self.assertEqual(evidence.check_chain(store), 2)

    def test_evidence_that_has_no_place_is_told_and_changes_no_status(self):
        done = self.sshx.expect(
            3, "run", *self.flags(), "--", "echo out; exit 3", environment=_BARE, prefix=self.homeless()
        )
        self.assertEqual(done.out, b"out\n")
        self.assert_mentions(done.error_text, "no evidence is kept", "home")

    def test_required_evidence_refuses_before_the_network(self):
        before = self.server.connections()
        document = self.sshx.json(
            "run", *self.flags("--audit", "required"), "--", "true", code=255, environment=_BARE, prefix=self.homeless()
        )
        self.assert_fields(document, error__kind="config", error__code="no_home", executed=False)
        self.assertEqual(self.server.connections(), before)

    def test_what_needs_a_home_says_so(self):
        for words in (
            ("run", "--target", "target", "--", "true"),
            ("run", *self.flags("--stdin-file", "~/input"), "--", "cat"),
            ("host", "add", "x", "--address", "10.0.0.1"),
            ("host", "list"),
            ("audit", "query"),
        ):
            with self.subTest(words):
                document = self.sshx.json(*words, code=255, environment=_BARE, prefix=self.homeless())
                self.assert_fields(document, error__kind="config", error__code="no_home")
                self.assert_mentions(document["error"]["message"], "HOME")
                self.assert_mentions(document["error"]["hint"], "SSHX_HOME")

    def test_the_message_repeats_the_home_that_is_none(self):
        done = self.sshx.expect(
            255, "host", "list", environment={**_BARE, "HOME": "/nonexistent"}, prefix=self.homeless()
        )
        self.assert_mentions(done.error_text, "/nonexistent")

    def test_sshx_home_is_enough_for_its_own_files(self):
        environment = {**_BARE, "SSHX_HOME": self.sshx.state}
        self.sshx.ok("host", "add", "a", "--address", "10.0.0.1", environment=environment, prefix=self.homeless())
        document = self.sshx.json("host", "list", code=0, environment=environment, prefix=self.homeless())
        self.assertEqual([host["name"] for host in document["hosts"]], ["a", "target"])

    def test_a_dry_run_needs_none_and_makes_none(self):
        before = _tree(self.sshx.directory)
        document = self.sshx.json(
            "run", *self.flags("--dry-run"), "--", "true", code=0, environment=_BARE, prefix=self.with_account()
        )
        self.assert_fields(document, valid=True)
        self.assertEqual(_tree(self.sshx.directory), before)

    def test_words_that_need_no_files(self):
        for words in (("--version",), ("--help",), ("run", "--help"), ("schema", "list")):
            with self.subTest(words):
                self.sshx.ok(*words, environment=_BARE, prefix=self.homeless())


class WhichHomeTest(WorldCase):
    """HOME where it is set, absolute and the caller's own folder; else the home in the user database."""

    def run_in(self, home):
        """The code of a run whose known_hosts and own files are found by HOME alone."""
        words = ("--address", f"{self.server.user}@{self.server.address}:{self.server.port}",
                 "--identity", self.lab.key().path)  # fmt: skip
        done = self.sshx.run(
            "run", *words, "--json", "--", "true", environment={**_BARE, "HOME": home}, prefix=self.with_account()
        )
        return self.sshx.document(done)["error_kind"]

    def test_home_wins_over_the_user_database(self):
        own = self.folder("own")
        self.trust_in(own)
        self.assertIsNone(self.run_in(own))
        self.assertEqual(evidence.check_chain(os.path.join(own, ".local/state/sshx/audit.db")), 2)
        self.assertEqual(os.listdir(self.account_home), [])

    def test_a_home_that_does_not_count(self):
        self.trust_in(self.account_home)
        for home in ("", "/nonexistent", "relative", self.accounts, self.foreign_folder()):
            with self.subTest(home):
                self.assertIsNone(self.run_in(home))
        self.assertEqual(evidence.check_chain(os.path.join(self.account_home, ".local/state/sshx/audit.db")), 10)

    def test_trust_of_the_user_database_s_home_is_not_mixed_in(self):
        self.trust_in(self.account_home)
        self.assertEqual(self.run_in(self.folder("own")), "host_key")

    def foreign_folder(self):
        """A folder that may be read and written, but is another user's."""
        if os.getuid() != 0:
            return "/tmp"
        path = self.folder("foreign")
        os.chmod(path, 0o777)
        os.chown(path, 65534, 65534)
        return path

    def test_folders_that_are_made_are_private(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        own = self.folder("own")
        environment = {**_BARE, "HOME": own}
        self.sshx.ok("host", "add", "a", "--address", "10.0.0.1", environment=environment)
        self.sshx.run("run", "--target", "a", "--port", "1", "--connect-timeout", "1s", "--address", "127.0.0.1:1",
                      "--", "true", environment=environment)  # fmt: skip
        for path in (".config", ".config/sshx", ".config/sshx/hosts.json"):
            mode = os.stat(os.path.join(own, path)).st_mode
            self.assertEqual(stat.S_IMODE(mode) & 0o077, 0, path)


class ReadOnlyTest(WorldCase):
    def setUp(self):
        super().setUp()
        self.sshx.ok("run", "--target", "target", "--request-id", "before", "--", "true")
        self.read_only = world(read_only(self.sshx.state), read_only(self.sshx.home))

    def test_a_run_works_and_says_what_it_could_not_keep(self):
        document = self.run_json("exit 5", code=5, prefix=self.read_only)
        self.assert_fields(document, audit_status="failed", error_kind="remote_exit")
        (warning,) = document["warnings"]
        self.assert_mentions(warning, self.sshx.audit_path)

    def test_required_evidence_refuses(self):
        before = self.server.connections()
        document = self.run_json("true", options=("--audit", "required"), code=255, prefix=self.read_only)
        self.assert_fields(document, error__kind="local_io", error__code="read_only", executed=False)
        self.assert_mentions(document["error"]["message"], self.sshx.audit_path)
        self.assert_mentions(document["error"]["hint"], "--audit-db")
        self.assertEqual(self.server.connections(), before)

    def test_a_store_that_is_not_there_yet(self):
        place = self.folder("place")
        path = os.path.join(place, "deep", "audit.db")
        document = self.run_json(
            "true", options=("--audit", "required", "--audit-db", path), code=255, prefix=world(read_only(place))
        )
        self.assert_fields(document, error__kind="local_io", error__code="read_only")
        self.assert_mentions(document["error"]["message"], path)

    def test_reading_works(self):
        document = self.sshx.json("audit", "query", code=0, prefix=self.read_only)
        self.assertEqual([event["request_id"] for event in document["events"]], ["before"])
        self.assertEqual(self.sshx.json("host", "list", code=0, prefix=self.read_only)["count"], 1)
        self.assert_fields(self.run_json("true", options=("--dry-run",), code=0, prefix=self.read_only), valid=True)

    def test_changes_name_the_path_and_what_to_do(self):
        for words, path in (
            (("host", "add", "x", "--address", "10.0.0.1"), self.sshx.hosts_path),
            (("host", "remove", "target"), self.sshx.hosts_path),
        ):
            with self.subTest(words):
                document = self.sshx.json(*words, code=255, prefix=self.read_only)
                self.assert_fields(document, error__kind="local_io", error__code="read_only")
                self.assert_mentions(document["error"]["message"], path)
                self.assertTrue(document["error"]["hint"])

    def test_trust_that_cannot_be_kept_is_an_error(self):
        self.sshx.trust()
        document = self.sshx.json(
            "host", "trust", "target", "--fingerprint", self.fingerprint(), code=255, prefix=self.read_only
        )
        self.assert_fields(document, error__kind="local_io", error__code="read_only")
        self.assert_mentions(document["error"]["message"], self.sshx.known_hosts_path)

    def test_accepting_an_unknown_host_needs_no_place_to_keep_it(self):
        self.sshx.trust()
        document = self.run_json("true", options=("--accept-unknown-host",), prefix=self.read_only)
        self.assertIn(document["error_kind"], (None, "local_io"))
        if document["error_kind"] is not None:
            self.assert_fields(document, error__code="read_only", executed=False)


class PermissionTest(WorldCase):
    """Files that are the caller's, but not for now."""

    def setUp(self):
        super().setUp()
        self.bound = world(uid=NOBODY)  # where root runs the tests, permissions bind too

    def locked(self, path, mode=0):
        os.chmod(path, mode)
        self.addCleanup(os.chmod, path, 0o700)
        return path

    def test_what_cannot_be_read(self):
        run = ("run", "--target", "target")
        for path, words, kind, code in (
            (self.sshx.known_hosts_path, (*run, "--json", "--", "true"), "config", "known_hosts"),
            (self.sshx.hosts_path, ("host", "list", "--json"), "local_io", "permission"),
            (self.file("input"), (*run, "--stdin-file", f"{self.sshx.directory}/input", "--json", "--", "cat"),
             "local_io", "permission"),
        ):  # fmt: skip
            with self.subTest(path):
                self.locked(path)
                before = self.server.connections()
                document = self.sshx.json(*words, code=255, prefix=self.bound)
                self.assert_fields(document, error__kind=kind, error__code=code)
                self.assert_mentions(document["error"]["message"], path, "permission denied")
                self.assertTrue(document["error"]["hint"])
                self.assertEqual(self.server.connections(), before)
                os.chmod(path, 0o600)

    def test_a_folder_that_cannot_be_written(self):
        self.locked(self.sshx.state, 0o500)
        document = self.sshx.json("host", "add", "x", "--address", "10.0.0.1", code=255, prefix=self.bound)
        self.assert_fields(document, error__kind="local_io", error__code="permission")
        self.assert_mentions(document["error"]["message"], self.sshx.hosts_path)
        self.assert_fields(self.run_json("exit 6", code=6, prefix=self.bound), audit_status="failed")

    def test_a_folder_that_cannot_be_entered(self):
        self.locked(self.sshx.state)
        for words in (("host", "list"), ("audit", "query")):
            document = self.sshx.json(*words, code=255, prefix=self.bound)
            self.assert_fields(document, error__kind="local_io")
            self.assert_mentions(document["error"]["message"], self.sshx.state, "permission denied")


class FullDiskTest(WorldCase):
    def test_evidence_that_finds_no_room_changes_no_status(self):
        for what, room in (("a new store", 0), ("a store in the making", 8), ("its first record", 24)):
            with self.subTest(what):
                document = self.run_json("exit 4", code=4, prefix=world(full(self.sshx.state, room)))
                self.assert_fields(document, audit_status="failed", error_kind="remote_exit")
                self.assert_mentions(document["warnings"][0], self.sshx.audit_path)
                self.assert_matches(document["warnings"][0], "full|no space")

    def test_an_old_store_that_is_full(self):
        self.run_json("true", code=0)
        document = self.run_json("exit 4", code=4, prefix=world(full(self.sshx.state)))
        self.assert_fields(document, audit_status="failed")
        document = self.sshx.json("audit", "query", code=0, prefix=world(full(self.sshx.state)))
        self.assertEqual(document["count"], 1)
        self.assertEqual(evidence.check_chain(self.sshx.audit_path), 2)

    def test_required_evidence_refuses_before_the_network(self):
        before = self.server.connections()
        document = self.run_json(
            "true", options=("--audit", "required"), code=255, prefix=world(full(self.sshx.state))
        )
        self.assert_fields(document, error__kind="local_io", error__code="no_space", executed=False)
        self.assert_mentions(document["error"]["message"], self.sshx.audit_path)
        self.assert_mentions(document["error"]["hint"], "free space")
        self.assertEqual(self.server.connections(), before)

    def test_the_disk_fills_up_during_the_run(self):
        # A limit on the size of files does it at a known byte: where the log ends once `started` is in it.
        running = self.sshx.start("run", "--target", "target", "--", "echo begun; sleep 60")
        running.wait_for(b"begun\n")
        size = os.stat(self.sshx.audit_path + "-wal").st_size
        running.kill9()
        store = os.path.join(self.folder("second"), "audit.db")
        document = self.run_json(
            "exit 4", options=("--audit-db", store), code=4, prefix=("prlimit", f"--fsize={size}", "--")
        )
        self.assert_fields(document, audit_status="failed", exit_code=4)
        self.assert_mentions(document["warnings"][0], "the end of this execution is not in the evidence", store)
        self.assertEqual([record["event"] for record in evidence.records(store)], ["started"])
        document = self.sshx.json("audit", "query", "--audit-db", store, code=0)
        self.assert_fields(document["events"][0], outcome="unknown")

    def test_the_hosts_file_stays_whole(self):
        with open(self.sshx.hosts_path, "rb") as file:
            before = file.read()
        for prefix in (world(full(self.sshx.state)), ("prlimit", "--fsize=10", "--")):
            document = self.sshx.json("host", "add", "x", "--address", "10.0.0.1", code=255, prefix=prefix)
            self.assert_fields(document, error__kind="local_io", error__code="no_space")
            self.assert_mentions(document["error"]["message"], self.sshx.hosts_path)
        with open(self.sshx.hosts_path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual([name for name in os.listdir(self.sshx.state) if "hosts.json." in name and name !=
                          "hosts.json.lock"], [])  # fmt: skip

    def test_known_hosts_stays_whole(self):
        self.sshx.trust("# a comment")
        document = self.sshx.json(
            "host", "trust", "target", "--fingerprint", self.fingerprint(), code=255,
            prefix=("prlimit", "--fsize=20", "--"),
        )  # fmt: skip
        self.assert_fields(document, error__kind="local_io", error__code="no_space")
        self.assert_mentions(document["error"]["message"], self.sshx.known_hosts_path)
        self.assertEqual(self.sshx.known_hosts(), "# a comment\n")

    def test_a_document_that_finds_no_room(self):
        for words in (("run", "--target", "target", "--json", "--", "true"), ("host", "list", "--json"),
                      ("audit", "query", "--json"), ("schema", "list"), ("--help",)):  # fmt: skip
            with self.subTest(words):
                done = self.to_full_device(*words)
                self.assertEqual(done.code, 255, done)
                self.assert_matches(done.error_text, "(standard output|stdout): no space left")

    def test_output_that_finds_no_room_ends_the_run_honestly(self):
        done = self.to_full_device("run", "--target", "target", "--request-id", "full", "--", "echo out; exit 3")
        self.assertEqual(done.code, 255, done)
        self.assert_matches(done.error_text, "(standard output|stdout): no space left")
        (event,) = self.sshx.json("audit", "query", "--request-id", "full", code=0)["events"]
        self.assert_fields(event, error_kind="local_io", executed=True)

    def to_full_device(self, *words):
        return self.sshx.run(*words, prefix=("sh", "-c", 'exec "$@" >/dev/full', "sh"))


def _tree(directory):
    """Every path below with size and times, without what belongs to the sanitizer."""
    found = {}
    for folder, folders, files in os.walk(directory):
        for name in folders + files:
            facts = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = (facts.st_size, facts.st_mtime_ns)
    return found


if __name__ == "__main__":
    unittest.main()
