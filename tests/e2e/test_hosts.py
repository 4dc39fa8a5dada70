"""The inventory: `sshx host add|update|remove|show|list`."""

import fcntl
import json
import os
import stat
import unittest

from tests.lab import LabCase

_FULL = (
    "--address", "10.0.0.5", "--port", "2222", "--user", "alice", "--identity", "~/.ssh/id", "--group", "web",
    "--group", "eu", "--tag", "env=prod", "--tag", "rack=a=b", "--description", "Front end, first",
)  # fmt: skip


class HostsCase(LabCase):
    def host(self, *words, code=0, **keywords):
        return self.sshx.json("host", *words, code=code, **keywords)

    def names(self, *options):
        return [host["name"] for host in self.host("list", *options)["hosts"]]

    def stored(self):
        with open(self.sshx.hosts_path, encoding="utf-8") as file:
            return json.load(file)


class AddTest(HostsCase):
    def test_everything_that_was_given_is_kept(self):
        document = self.host("add", "web-1", *_FULL, version="sshx.hosts.v1")
        self.assert_fields(document, operation="host.add", success=True, count=1, path=self.sshx.hosts_path, error=None)
        (shown,) = self.host("show", "web-1")["hosts"]
        self.assert_fields(
            shown,
            name="web-1",
            address="10.0.0.5",
            port=2222,
            user="alice",
            groups=["web", "eu"],
            tags={"env": "prod", "rack": "a=b"},
            description="Front end, first",
            keys=[],
            test=None,
        )
        self.assertIn(shown["identity"], ("~/.ssh/id", os.path.join(self.sshx.home, ".ssh/id")))

    def test_an_address_is_enough(self):
        self.host("add", "web-1", "--address", "host-a")
        (shown,) = self.host("show", "web-1")["hosts"]
        self.assert_fields(shown, address="host-a", port=22, user=None, identity=None)
        self.assert_fields(shown, groups=[], tags={}, description=None)

    def test_address_may_hold_user_and_port(self):
        for name, address, expected in (
            ("a", "alice@host-a:2222", ("host-a", 2222, "alice")),
            ("b", "[2001:db8::1]:2200", ("2001:db8::1", 2200, None)),
            ("c", "bob@[2001:db8::1]", ("2001:db8::1", 22, "bob")),
            ("d", "2001:db8::1", ("2001:db8::1", 22, None)),
        ):
            with self.subTest(address):
                (shown,) = self.host("add", name, "--address", address)["hosts"]
                self.assertEqual((shown["address"], shown["port"], shown["user"]), expected)

    def test_a_name_that_exists_is_refused_and_stays(self):
        self.host("add", "web-1", "--address", "host-a")
        document = self.host("add", "web-1", "--address", "host-b", code=255)
        self.assert_fields(document, error_kind="config", error__code="exists")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "web-1", "host update")
        (shown,) = self.host("show", "web-1")["hosts"]
        self.assertEqual(shown["address"], "host-a")

    def test_text_and_request_do_the_same(self):
        self.sshx.ok("host", "add", "one", "--address", "host-a", "--port", "2222", "--group", "web,eu")
        body = b'{"name":"two","address":"host-a","port":2222,"groups":["web","eu"]}'
        self.host("add", "--request", "-", stdin=body)
        hosts = self.stored()["hosts"]
        self.assertEqual(hosts["one"], hosts["two"])

    def test_bad_names(self):
        for name in ("", "-x", "a b", "a/b", "a\nb", "ä", "a" * 129, "a;b", "$(id)", ".", "..", "a@b", "a:b", "*"):
            with self.subTest(name):
                document = self.sshx.json(
                    "host", "add", "--request", "-", code=255, stdin=json.dumps({"name": name, "address": "h"}).encode()
                )
                self.assert_fields(document, error_kind="config")
        self.assertFalse(os.path.exists(self.sshx.hosts_path))

    # B150, B151
    def test_bad_values(self):
        for properties in (
            {"address": "-oProxyCommand=id"},
            {"address": "a b"},
            {"address": "host\n"},
            {"address": ""},
            {"address": "h", "user": "-l"},
            {"address": "h", "user": "a b"},
            {"address": "h", "user": "a\nb"},
            {"address": "h", "port": 0},
            {"address": "h", "port": 65536},
            {"address": "h", "port": 22.5},
            {"address": "h", "port": "22"},
            {"address": "h", "tags": ["novalue"]},
            {"address": "h", "tags": ["=x"]},
            {"address": "h", "groups": "web"},
            {"address": "h", "groups": [""]},
            {"address": "h", "description": "x" * 1025},
            {"address": "h", "colour": "red"},
            {},
        ):
            with self.subTest(properties):
                body = json.dumps({"name": "web-1", **properties}).encode("utf-8")
                document = self.sshx.json("host", "add", "--request", "-", stdin=body, code=255)
                self.assert_fields(document, error_kind="config")
        self.assertFalse(os.path.exists(self.sshx.hosts_path))


class ChangeTest(HostsCase):
    def setUp(self):
        super().setUp()
        self.host("add", "web-1", *_FULL)

    def shown(self):
        return self.host("show", "web-1")["hosts"][0]

    def test_update_changes_what_is_given_and_leaves_the_rest(self):
        before = self.shown()
        self.host("update", "web-1", "--port", "2223")
        self.assertEqual(self.shown(), {**before, "port": 2223})

    def test_lists_are_replaced_whole(self):
        self.host("update", "web-1", "--group", "db", "--tag", "env=test")
        self.assert_fields(self.shown(), groups=["db"], tags={"env": "test"}, user="alice")

    def test_unset(self):
        for what in ("port", "user", "identity", "groups", "tags", "description"):
            self.host("update", "web-1", "--unset", what)
        self.assert_fields(self.shown(), port=22, user=None, identity=None, groups=[], tags={}, description=None)

    def test_unset_and_set_of_the_same_is_refused(self):
        document = self.host("update", "web-1", "--unset", "port", "--port", "1", code=255)
        self.assert_fields(document, error_kind="config")

    def test_remove(self):
        self.host("remove", "web-1")
        self.assertEqual(self.names(), [])
        self.assert_fields(self.host("remove", "web-1", code=255), error_kind="config", error__code="unknown_target")

    def test_a_name_that_is_not_there_suggests_the_nearest(self):
        for word in ("show", "update", "remove", "trust", "test"):
            with self.subTest(word):
                document = self.host(word, "web-2", *(("--port", "1") if word == "update" else ()), code=255)
                self.assert_fields(document, error_kind="config", error__code="unknown_target")
                self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "web-2", "web-1")


class ListTest(HostsCase):
    def setUp(self):
        super().setUp()
        self.host("add", "web-2", "--address", "host-b", "--group", "web", "--tag", "env=prod", "--tag", "os=debian")
        self.host("add", "web-1", "--address", "host-a", "--group", "web", "--tag", "env=test")
        self.host("add", "db-1", "--address", "host-c", "--group", "db", "--tag", "env=prod")
        self.host("add", "lone", "--address", "host-d")

    def test_sorted_by_name(self):
        document = self.host("list", version="sshx.hosts.v1")
        self.assertEqual([host["name"] for host in document["hosts"]], ["db-1", "lone", "web-1", "web-2"])
        self.assert_fields(document, count=4, success=True, operation="host.list")

    # B197: several groups are alternatives, several tags must all match.
    def test_selection(self):
        for options, expected in (
            (("--group", "web"), ["web-1", "web-2"]),
            (("--group", "web", "--group", "db"), ["db-1", "web-1", "web-2"]),
            (("--group", "web,db"), ["db-1", "web-1", "web-2"]),
            (("--tag", "env=prod"), ["db-1", "web-2"]),
            (("--tag", "env=prod", "--tag", "os=debian"), ["web-2"]),
            (("--group", "web", "--tag", "env=prod"), ["web-2"]),
            (("--group", "none"), []),
            (("--tag", "env=pro"), []),
        ):
            with self.subTest(options):
                self.assertEqual(self.names(*options), expected)

    def test_text_is_one_line_a_host(self):
        done = self.sshx.ok("host", "list")
        for name in ("db-1", "lone", "web-1", "web-2"):
            self.assertEqual(sum(name in line for line in done.text.splitlines()), 1, done)

    def test_empty_inventory(self):
        fresh = self.lab.sshx()
        document = fresh.json("host", "list", code=0)
        self.assert_fields(document, count=0, hosts=[], success=True)
        self.assertFalse(os.path.exists(fresh.hosts_path), "listing must write nothing")


class SpellingTest(HostsCase):
    def test_old_spellings_do_the_same(self):
        self.sshx.ok("--host-add", "one", "--address", "host-a")
        self.sshx.ok("--host-add=two", "--address", "host-b")
        self.assertEqual(self.names(), ["one", "two"])
        document = self.sshx.json("--host-list", code=0, version="sshx.hosts.v1")
        self.assertEqual([host["name"] for host in document["hosts"]], ["one", "two"])
        self.sshx.ok("--host-remove", "one")
        self.sshx.ok("--host-remove=two")
        self.assertEqual(self.names(), [])

    def test_old_spelling_of_test(self):
        self.host("add", "one", "--address", "127.0.0.1", "--port", "1")
        document = self.sshx.json("--host-test", "one", code=1, version="sshx.hosts.v1")
        self.assert_fields(document, operation="host.test", success=False)
        document = self.sshx.json("--host-test=one", code=1)
        self.assert_fields(document, operation="host.test", success=False)


class FileTest(HostsCase):
    def write(self, text, mode=0o600):
        with open(self.sshx.hosts_path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.sshx.hosts_path, mode)

    def assert_refused(self, *words, code="hosts_file"):
        for operation in (("list",), ("add", "b", "--address", "host-b"), ("test", "--all")):
            document = self.host(*operation, code=255)
            self.assert_fields(document, error_kind="config", error__code=code)
            self.assert_mentions(
                f"{document['error']['message']} {document['error']['hint']}", self.sshx.hosts_path, *words
            )

    def test_owner_only_and_versioned(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        self.host("add", "a", "--address", "host-a")
        self.assertEqual(stat.S_IMODE(os.stat(self.sshx.hosts_path).st_mode), 0o600)
        self.assertEqual(self.stored()["schema_version"], "sshx.hosts_file.v1")

    def test_replaced_and_not_rewritten(self):
        self.host("add", "a", "--address", "host-a")
        with open(self.sshx.hosts_path, encoding="utf-8") as before:
            first = os.fstat(before.fileno()).st_ino
            self.host("add", "b", "--address", "host-b")
            # A reader that has the old file open still reads a whole one.
            self.assertEqual(list(json.load(before)["hosts"]), ["a"])
        self.assertNotEqual(os.stat(self.sshx.hosts_path).st_ino, first)
        self.assertEqual([name for name in os.listdir(self.sshx.state) if "tmp" in name.lower()], [])

    def test_folders_are_made_owner_only(self):
        environment = {"SSHX_HOME": None}
        self.sshx.ok("host", "add", "a", "--address", "host-a", environment=environment)
        folder = os.path.join(self.sshx.directory, "xdg-config", "sshx")
        self.assertIn("hosts.json", os.listdir(folder))
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        for name in os.listdir(folder):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, name)

    def test_fifty_writers_at_once_lose_nothing(self):
        runs = [self.sshx.start("host", "add", f"host-{number}", "--address", "host-a") for number in range(50)]
        for run in runs:
            self.assertEqual(run.wait().code, 0)
        self.assertEqual(len(self.names()), 50)
        self.assertEqual(stat.S_IMODE(os.stat(self.sshx.hosts_path).st_mode), 0o600)

    def test_a_lock_that_is_held_is_told_and_not_waited_for_for_ever(self):
        self.host("add", "a", "--address", "host-a")
        with open(self.sshx.hosts_path + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = self.host("add", "b", "--address", "host-b", code=255)
            # Reading needs no lock.
            self.assertEqual(self.names(), ["a"])
        self.assert_fields(document, error__kind="busy", error__code="locked", error__retryable=True)

    def test_a_relative_home_is_refused(self):
        document = self.host("list", code=255, environment={"SSHX_HOME": "relative"})
        self.assert_fields(document, error_kind="config", error__code="sshx_home")

    def test_bad_syntax_names_the_place(self):
        self.write('{\n  "schema_version": "sshx.hosts_file.v1",\n  "hosts": {,}\n}\n')
        self.assert_refused("line 3")
        with open(self.sshx.hosts_path, encoding="utf-8") as file:
            self.assertIn("{,}", file.read(), "a file that is not understood must be left alone")

    def test_bad_values_name_the_property(self):
        for host, place in (
            ({"address": "h", "port": 0}, "port"),
            ({"address": "h", "port": "22"}, "port"),
            ({"address": 5}, "address"),
            ({}, "address"),
            ({"address": "h", "adress": "h"}, "adress"),
            ({"address": "-x"}, "address"),
            ({"address": "h", "groups": "web"}, "groups"),
            ({"address": "h", "tags": ["a=b"]}, "tags"),
        ):
            with self.subTest(place=place, host=host):
                self.write(json.dumps({"schema_version": "sshx.hosts_file.v1", "hosts": {"web-1": host}}))
                self.assert_refused("web-1", place)

    def test_other_versions_and_other_roots(self):
        for text in ('{"schema_version":"sshx.hosts_file.v2","hosts":{}}', "[]", "{}", '"x"', "", '{"hosts":{}}'):
            with self.subTest(text):
                self.write(text)
                self.assert_refused()

    def test_twice_the_same_host_is_refused(self):
        self.write('{"schema_version":"sshx.hosts_file.v1","hosts":{"a":{"address":"h"},"a":{"address":"i"}}}')
        self.assert_refused()

    def test_a_file_that_others_may_write_is_refused(self):
        self.write('{"schema_version":"sshx.hosts_file.v1","hosts":{}}', mode=0o666)
        self.assert_refused("chmod", code="unsafe_permissions")

    # B173
    def test_no_home_needs_nothing_but_flags(self):
        environment = {"SSHX_HOME": None, "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None, "HOME": "/nonexistent"}
        document = self.sshx.json(
            "run", "--address", "127.0.0.1:1", "--identity", self.lab.key().path, "--audit", "off", "--", "true",
            code=255, environment=environment,
        )  # fmt: skip
        self.assert_fields(document, error_kind="connect", error__code="refused")

    def test_a_folder_that_cannot_be_written_is_named(self):
        blocked = os.path.join(self.sshx.directory, "file")
        with open(blocked, "w", encoding="ascii"):
            pass
        document = self.host(
            "add", "a", "--address", "host-a", code=255, environment={"SSHX_HOME": os.path.join(blocked, "home")}
        )
        self.assertIn(document["error_kind"], ("local_io", "config"))
        self.assert_mentions(document["error"]["message"], blocked)


if __name__ == "__main__":
    unittest.main()
