"""What an operator lets be done: allowed hosts and groups, and nothing but reading, whatever the surface."""

import json
import os
import unittest

from tests.lab import LabCase

SURFACES = ((), ("--surface", "mcp"))


class ConfinementCase(LabCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.lab.server()

    def setUp(self):
        super().setUp()
        self.sshx.trust(self.server.known_hosts_line())
        key = self.lab.key()
        self.sshx.add_host("web-1", self.server, "--group", "web", identity=key)
        self.sshx.add_host("web-2", self.server, "--group", "web,prod", identity=key)
        self.sshx.add_host("db-1", self.server, "--group", "prod", identity=key)

    def run_in(self, fence, name, command="true", options=(), **keywords):
        return self.sshx.json("run", *fence, "--target", name, *options, "--", command, **keywords)

    def names(self, *fence):
        return [host["name"] for host in self.sshx.json("host", "list", *fence, code=0)["hosts"]]

    def targets(self, *fence, **keywords):
        answer = self.sshx.json("audit", "query", *fence, code=0, **keywords)
        return [event["target"]["alias"] or event["target"]["address"] for event in answer["events"]]

    def assert_blocked(self, document, code):
        self.assert_fields(document, success=False, error__kind="blocked", error__code=code, error__phase="admission")


class ReachTest(ConfinementCase):
    def test_only_what_is_allowed_can_be_used(self):
        for fence, allowed in (
            (("--allow-target", "web-1"), {"web-1"}),
            (("--allow-target", "web-*"), {"web-1", "web-2"}),
            (("--allow-target", "web-1,db-1"), {"web-1", "db-1"}),
            (("--allow-group", "prod"), {"web-2", "db-1"}),
            (("--allow-target", "web-1", "--allow-group", "prod"), {"web-1", "web-2", "db-1"}),
            (("--allow-target", "*"), {"web-1", "web-2", "db-1"}),
            (("--allow-target", "web"), set()),
        ):
            self.assertEqual(set(self.names(*fence)), allowed)
            for name in ("web-1", "web-2", "db-1", "nobody"):
                with self.subTest((fence, name)):
                    if name in allowed:
                        self.run_in(fence, name, code=0)
                    else:
                        self.assert_blocked(self.run_in(fence, name, code=255), "target_not_allowed")

    def test_on_each_surface(self):
        for surface in SURFACES:
            fence = (*surface, "--allow-target", "web-*")
            self.run_in(fence, "web-1", code=0)
            self.assert_blocked(self.run_in(fence, "db-1", code=255), "target_not_allowed")

    # No oracle: nobody learns here which other hosts there are.
    def test_a_forbidden_name_looks_as_an_unknown_one(self):
        for options in ((), ("--user", "root"), ("--port", "1"), ("--dry-run",)):
            with self.subTest(options):
                answers = []
                for name in ("db-1", "db-2"):
                    document = self.run_in(("--allow-target", "web-*"), name, options=options, code=255)
                    answers.append(json.dumps(document).replace(name, "NAME"))
                self.assertEqual(answers[0], answers[1])
                self.assertIn("web-1, web-2", answers[0])

    def test_without_a_target_only_allowed_names_are_listed(self):
        document = self.sshx.json("run", "--allow-group", "web", "--", "true", code=255)
        self.assert_fields(document, error__code="no_target")
        self.assert_mentions(document["error"]["hint"], "web-1", "web-2")
        self.assertNotIn("db-1", json.dumps(document))

    def test_an_address_is_no_way_around(self):
        place = f"{self.server.user}@{self.server.address}:{self.server.port}"
        for address in (place, "localhost", "web-1", "-oProxyCommand=x"):
            document = self.sshx.json("run", "--allow-target", "*", f"--address={address}", "--", "true", code=255)
            self.assert_blocked(document, "address_not_allowed")

    def test_another_account_or_place_is_no_way_around(self):
        fence = ("--allow-target", "web-1")
        for options in (("--user", "somebody-else"), ("--port", "1")):
            self.assert_blocked(self.run_in(fence, "web-1", options=options, code=255), "override_not_allowed")
        own = ("--user", self.server.user, "--port", self.server.port)
        self.run_in(fence, "web-1", options=own, code=0)

    def test_a_preview_is_held_to_it(self):
        document = self.run_in(("--allow-target", "web-1"), "db-1", options=("--dry-run",), code=255)
        self.assert_fields(document, schema_version="sshx.request.v1", valid=False, error_kind="blocked")
        self.run_in(("--allow-target", "web-1"), "web-1", options=("--dry-run",), code=0)

    def test_a_refusal_leaves_no_execution(self):
        self.run_in(("--allow-target", "web-1"), "db-1", code=255)
        self.assertEqual(self.targets(), [])

    def test_the_list_narrows_a_selection(self):
        fence = ("--allow-target", "web-*")
        self.assertEqual(self.names(*fence, "--group", "prod"), ["web-2"])
        self.assertEqual(self.names(*fence, "--group", "nothing"), [])

    def test_a_fence_that_is_none_is_refused(self):
        for words in (("--allow-target", ""), ("--allow-target", "w*b"), ("--allow-group", "a*"), ("--allow-target", "a b")):
            with self.subTest(words):
                document = self.sshx.json("host", "list", *words, code=255)
                self.assertEqual(document["error"]["kind"], "config")

    def test_a_request_cannot_widen_it(self):
        body = {"targets": ["db-1"], "command": "true", "allow_targets": ["*"]}
        document = self.sshx.json(
            "run", "--allow-target", "web-1", "--request", "-", stdin=json.dumps(body).encode(), code=255)  # fmt: skip
        self.assert_fields(document, error__code="unknown_property")


class EvidenceReachTest(ConfinementCase):
    def setUp(self):
        super().setUp()
        for name in ("db-1", "web-1", "web-2", "db-1"):
            self.run_in((), name, code=0)
        self.sshx.json(
            "run", "--address", f"{self.server.user}@{self.server.address}:{self.server.port}", "--identity", self.lab.key().path,
            "--", "true", code=0)  # fmt: skip

    def test_only_allowed_executions_are_shown(self):
        for surface in SURFACES:
            with self.subTest(surface):
                self.assertEqual(self.targets(*surface), [self.server.address, "db-1", "web-2", "web-1", "db-1"])
                self.assertEqual(self.targets(*surface, "--allow-target", "web-*"), ["web-2", "web-1"])
                self.assertEqual(self.targets(*surface, "--allow-group", "prod"), ["db-1", "web-2", "db-1"])
                self.assertEqual(self.targets(*surface, "--allow-target", "*"), ["db-1", "web-2", "web-1", "db-1"])
                self.assertEqual(self.targets(*surface, "--allow-target", "nobody"), [])

    def test_the_limit_counts_what_is_shown(self):
        answer = self.sshx.json("audit", "query", "--allow-target", "web-*", "--limit", "2", code=0)
        self.assertEqual([event["target"]["alias"] for event in answer["events"]], ["web-2", "web-1"])
        self.assertEqual(answer["warnings"], [])
        self.assertEqual(self.targets("--allow-target", "web-*", "--limit", "1"), ["web-2"])

    def test_a_search_finds_nothing_beyond(self):
        for words in (("--target", "db-1"), ("--target", self.server.address, "--operation", "host.test")):
            with self.subTest(words):
                self.assertEqual(self.targets("--allow-target", "web-1", *words), [])

    def test_groups_are_those_of_the_record(self):
        self.sshx.ok("host", "update", "web-1", "--group", "prod")
        self.assertEqual(self.targets("--allow-group", "web"), ["web-2", "web-1"])
        self.sshx.ok("host", "remove", "web-1")
        self.assertEqual(self.targets("--allow-group", "web"), ["web-2", "web-1"])


class ReadOnlyTest(ConfinementCase):
    def test_nothing_is_run(self):
        mark = os.path.join(self.lab.new_directory("m"), "mark")
        for surface in SURFACES:
            with self.subTest(surface):
                document = self.run_in((*surface, "--read-only"), "web-1", f"touch {mark}", code=255)
                self.assert_blocked(document, "read_only")
                read = self.run_in((*surface, "--read-only"), "web-1", "true", options=("--intent", "read"), code=255)
                self.assert_blocked(read, "read_only")
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.targets(), [])

    def test_reading_and_previews_work(self):
        for surface in SURFACES:
            with self.subTest(surface):
                fence = (*surface, "--read-only")
                preview = self.run_in(fence, "web-1", options=("--dry-run",), code=0)
                self.assertIs(preview["valid"], True)
                self.assertEqual(self.names(*fence), ["db-1", "web-1", "web-2"])
                self.assertEqual(self.targets(*fence), [])


if __name__ == "__main__":
    unittest.main()
