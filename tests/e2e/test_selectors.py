"""Selectors of `run`: what they mean, and what a typo in one of them says, through options and requests. All of it is offline."""

import json
import os
import unittest

from tests.lab import LabCase


class SelectorCase(LabCase):
    def setUp(self):
        super().setUp()
        for name, group, tag in (("db-1", "db", "env=prod"), ("web-1", "web", "env=prod"), ("web-2", "web", "env=test")):
            # Nothing listens there: whatever would be run is seen to fail.
            self.sshx.ok("host", "add", name, "--address", "127.0.0.1:1", "--group", group, "--tag", tag)

    def names_file(self, text):
        path = os.path.join(self.sshx.directory, "names")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def select(self, *options, **keywords):
        return self.sshx.json("run", *options, "--", "true", code=255, **keywords)

    def assert_refused(self, document, code, *mentions):
        self.assert_fields(document, success=False, error__kind="config", error__code=code)
        self.assert_mentions(" ".join(filter(None, (document["error"]["message"], document["error"]["hint"]))), *mentions)


class TypoTest(SelectorCase):
    def test_what_nobody_has_is_told_with_what_there_is(self):
        for options, code, mentions in (
            (("--target", "web-1", "--target", "web-3"), "unknown_target", ("web-3", "web-1", "db-1")),
            (("--group", "wbe"), "unknown_group", ("wbe", "did you mean web?", "db")),
            (("--tag", "env=prd"), "unknown_tag", ("env=prd", "env=prod", "env=test")),
            (("--all-hosts", "--exclude", "web-3"), "unknown_target", ("--exclude", "web-3")),
            (("--all-hosts", "--exclude", "mail-*"), "unknown_target", ("--exclude", "mail-*", "db-1")),
            (("--group", "db", "--tag", "env=test"), "no_match", ("db-1", "web-1", "web-2")),
            (("--group", "web", "--exclude", "web-*"), "no_match", ("db-1",)),
            (("--exclude", "web-*"), "no_target", ("db-1",)),
            (("--all-hosts", "--shard", "3/2"), "range", ("--shard", "3/2")),
            (("--all-hosts", "--shard", "half"), "pattern", ("--shard",)),
            (("--all-hosts", "--concurrency", "513"), "range", ("--concurrency", "512")),
            (("--all-hosts", "--group", "web"), "request_conflict", ("--all-hosts", "--group")),
            (("--address", "127.0.0.1", "--group", "web"), "request_conflict", ("--group",)),
        ):
            with self.subTest(options):
                self.assert_refused(self.select(*options), code, *mentions)

    def test_a_file_of_names_says_where(self):
        path = self.names_file("# the fleet\n\nweb-1\nweb-3  # a typo\n")
        self.assert_refused(self.select("--hosts-from", path), "unknown_target", f"{path}:4", "web-3")
        self.assert_refused(self.select("--hosts-from", "-", stdin=b"web-1\nnobody\n"), "unknown_target", "input:2", "nobody")
        document = self.select("--hosts-from", path + ".gone")
        self.assert_fields(document, error__kind="local_io", error__code="not_found")

    def test_nobody_is_looked_up_in_dns(self):
        self.assert_refused(self.select("--target", "localhost"), "unknown_target", "localhost")
        self.assert_refused(self.select("--hosts-from", self.names_file("localhost\n")), "unknown_target", "localhost")

    def test_a_fence_hides_groups_and_tags_of_others(self):
        fence = ("--allow-group", "web")
        self.assert_refused(self.select(*fence, "--group", "db"), "unknown_group", "known groups: web")
        document = self.select(*fence, "--all-hosts", "--exclude", "web-*")
        self.assert_refused(document, "no_match", "web-1, web-2")
        self.assertNotIn("db-1", json.dumps(document))


class MeaningTest(SelectorCase):
    """B197: what a plan says that selectors mean."""

    def selected(self, *options, **keywords):
        document = self.sshx.json("run", "--dry-run", *options, "--", "true", code=0, **keywords)
        return [target["alias"] for target in document["targets"]]

    def test_what_each_selects(self):
        for options, names in (
            (("--tag", "env=prod"), ["db-1", "web-1"]),
            (("--group", "web,db"), ["db-1", "web-1", "web-2"]),
            (("--group", "web", "--tag", "env=prod"), ["web-1"]),
            (("-t", "web-2,db-1"), ["db-1", "web-2"]),
            (("-t", "web-2", "-t", "db-1"), ["db-1", "web-2"]),
            (("--all-hosts", "--exclude", "web-*"), ["db-1"]),
            (("--hosts-from", self.names_file("web-2\nweb-1\n")), ["web-1", "web-2"]),
        ):
            with self.subTest(options):
                self.assertEqual(self.selected(*options), names)

    # A comma is a part of the value: tags are given one by one.
    def test_all_tags_have_to_be_there(self):
        self.sshx.ok("host", "add", "web-3", "--address", "127.0.0.1:2", "--tag", "env=prod", "--tag", "os=a,b")
        self.assertEqual(self.selected("--tag", "os=a,b", "--tag", "env=prod"), ["web-3"])
        self.assert_refused(self.select("--tag", "env=prod", "--tag", "env=test"), "no_match")
        self.assert_refused(self.select("--tag", "env=prod,os=a"), "unknown_tag", "env=prod,os=a")

    def test_names_from_stdin(self):
        self.assertEqual(self.selected("--hosts-from", "-", stdin=b"web-2\ndb-1\n"), ["db-1", "web-2"])

    def test_several_names_of_one_address_are_told(self):
        document = self.sshx.json("run", "--dry-run", "--all-hosts", "--", "true", code=0)
        self.assert_mentions(" ".join(document["notes"]), "127.0.0.1:1", "db-1", "web-1", "web-2")


class StdinTest(SelectorCase):
    def test_stdin_gives_one_thing_only(self):
        document = self.select("--hosts-from", "-", "--stdin", stdin=b"web-1\n")
        self.assert_refused(document, "request_conflict", "hosts_from", "stdin_inherit")
        request = json.dumps({"hosts_from": "-", "command": "true"}).encode("utf-8")
        document = self.sshx.json("run", "--request", "-", stdin=request, code=255)
        self.assert_refused(document, "request_conflict", "hosts_from")


class RequestTest(SelectorCase):
    def test_flags_and_request_are_one_request(self):
        names = self.names_file("db-1\n")
        for flags, properties in (
            (("--target", "web-1", "-t", "web-2"), {"targets": ["web-1", "web-2"]}),
            (("--target", "web-1,web-2"), {"targets": ["web-1", "web-2"]}),
            (("--group", "web", "--group", "db"), {"groups": ["web", "db"]}),
            (("--group", "web,db"), {"groups": ["web", "db"]}),
            (("--tag", "env=prod", "--tag", "env=prod"), {"tags": ["env=prod", "env=prod"]}),
            (("--all-hosts", "--exclude", "web-1,db-*"), {"all_hosts": True, "exclude": ["web-1", "db-*"]}),
            (("--hosts-from", names, "--concurrency", "3"), {"hosts_from": names, "concurrency": 3}),
            (("--all-hosts", "--shard", "1/2"), {"all_hosts": True, "shard": "1/2"}),
        ):
            with self.subTest(flags):
                by_flags = self.sshx.json("run", "--dry-run", *flags, "--", "true", code=None)
                body = json.dumps({"command": "true", "dry_run": True, **properties}).encode("utf-8")
                by_request = self.sshx.json("run", "--request", "-", stdin=body, code=None)
                self.assertEqual(by_flags, by_request)
                for name, value in properties.items():
                    self.assertEqual(by_flags["request"][name], value)


if __name__ == "__main__":
    unittest.main()
