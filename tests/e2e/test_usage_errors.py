"""Wrong usage: 255, one document when `--json` stands before `--`, a suggestion; and help that teaches."""

import json
import os
import unittest

from tests.lab import LabCase
from tests.lab.documents import parse

_OPERATIONS = (
    "run", "host add", "host update", "host remove", "host show", "host list", "host trust", "host test",
    "audit query", "audit show", "schema list", "schema show",
)  # fmt: skip


class UsageErrorTest(LabCase):
    def refused(self, *words, code=None):
        document = self.sshx.json(*words, code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="config", success=False, exit_code=-1)
        if code:
            self.assert_fields(document, error__code=code)
        return f"{document['error']['message']} {document['error']['hint']}"

    def test_a_typo_in_an_option(self):
        for words, nearest in (
            (("run", "--taget", "x", "--", "true"), "--target"),
            (("run", "--timeuot=3", "--", "true"), "--timeout"),
            (("host", "add", "a", "--adress", "h"), "--address"),
        ):
            with self.subTest(words):
                self.assert_mentions(self.refused(*words, code="unknown_option"), nearest)

    def test_a_typo_in_a_command(self):
        for words, nearest in (
            (("rnu",), "run"),
            (("hots", "list"), "host"),
            (("host", "lst"), "list"),
            (("host", "ad", "x"), "add"),
            (("audit", "qeury"), "query"),
            (("schema", "shwo"), "show"),
        ):
            with self.subTest(words):
                self.assert_mentions(self.refused(*words, code="unknown_command"), nearest)

    def test_an_option_may_not_be_shortened(self):
        self.refused("run", "--targ", "x", "--", "true", code="unknown_option")

    def test_options_of_other_operations_are_unknown(self):
        self.refused("host", "list", "--timeout", "3s", code="unknown_option")
        self.refused("host", "list", "--audit", "off", code="unknown_option")

    def test_options_that_exist_only_in_requests(self):
        for option in ("--stdin-base64", "--command", "--stdin-inherit", "--targets", "--timeout-seconds"):
            with self.subTest(option):
                self.refused("run", "--target", "x", f"{option}=y", "--", "true", code="unknown_option")

    def test_missing_values_and_words(self):
        for words in (
            ("run", "--target"),
            ("run", "--target", "--", "true"),
            ("run", "--target", "x", "--timeout", "--", "true"),
            ("host", "add"),
            ("host", "add", "x"),
            ("host", "show"),
            ("host", "show", "a", "b"),
            ("audit", "show"),
            ("schema", "show"),
            ("host", "list", "extra"),
            ("run", "--target", "x", "--"),
        ):
            with self.subTest(words):
                self.refused(*words)

    def test_a_forgotten_double_dash_is_explained(self):
        self.assert_mentions(self.refused("run", "--target", "x", "uptime"), "--")

    def test_a_repeated_option_is_refused(self):
        text = self.refused("run", "--target", "x", "--timeout", "1s", "--timeout", "2s", "--", "true")
        self.assert_mentions(text, "--timeout")

    def test_a_value_for_a_switch_is_refused(self):
        self.refused("run", "--target", "x", "--dry-run=maybe", "--", "true")

    def test_bad_choice_lists_the_choices(self):
        text = self.refused("run", "--target", "x", "--audit", "maybe", "--", "true")
        self.assert_mentions(text, "best-effort", "required", "off")

    def test_sizes(self):
        for value in ("", "x", "1X", "-1", "1.5", "1 K", "K", "99999999999999999999", "0x10"):
            with self.subTest(value):
                self.refused("run", "--target", "x", f"--max-output-bytes={value}", "--", "true", code="size")

    def test_without_json_stdout_stays_empty(self):
        for words in (("rnu",), ("run", "--taget", "x", "--", "true"), ("host", "show"), ()):
            with self.subTest(words):
                done = self.sshx.expect(255, *words)
                self.assertEqual(done.out, b"")
                self.assertTrue(done.err.startswith(b"sshx: "), done)

    def test_json_counts_only_before_the_dashes(self):
        done = self.sshx.expect(255, "run", "--taget", "x", "--", "echo", "--json")
        self.assertEqual(done.out, b"")
        done = self.sshx.expect(255, "run", "--taget", "x", "--json", "--", "true")
        self.assert_fields(self.sshx.document(done), schema_version="sshx.error.v1")

    def test_json_anywhere_before_the_dashes(self):
        for words in (("--json", "rnu"), ("rnu", "--json"), ("host", "--json", "lst"), ("--json",)):
            with self.subTest(words):
                self.assert_fields(
                    self.sshx.document(self.sshx.expect(255, *words)), schema_version="sshx.error.v1", error_kind="config"
                )

    def test_jsonl_before_the_dashes_gets_a_document_too(self):
        done = self.sshx.expect(255, "rnu", "--jsonl")
        self.assert_fields(parse(done.out), schema_version="sshx.error.v1")

    def test_the_document_names_the_operation(self):
        self.assert_fields(self.sshx.json("host", "add", "--adress", "x", code=255), operation="host.add")
        self.assert_fields(self.sshx.json("run", "--taget", "x", code=255), operation="run")

    # B149: what the caller typed comes back without its control characters.
    def test_hostile_words_are_inert(self):
        done = self.sshx.expect(255, "run", "--ta\x1b[2Jget", "x", "--", "true")
        self.assertNotIn(b"\x1b", done.err)
        document = self.sshx.json("run", "--target", "\x1b]0;x\x07\u202e", "--", "true", code=255)
        self.assert_fields(document, error_kind="config")
        done = self.sshx.expect(255, "run", "--target", "\x1b]0;x\x07", "--", "true")
        self.assertNotIn(b"\x1b", done.err)

    def test_words_that_are_not_utf8(self):
        odd = os.fsdecode(b"\xff\xfe")
        for words in (("--target", odd, "--json", "--", "true"), ("--target", "a", "--json", "--", "printf", odd)):
            with self.subTest(words):
                done = self.sshx.run("run", *words)
                self.assertEqual(done.code, 255)
                document = self.sshx.document(done)
                self.assert_fields(document, error_kind="config", error__code="type")
                self.assert_mentions(document["error"]["message"], "UTF-8")


class HelpTest(LabCase):
    def schema(self, operation):
        return json.loads(self.sshx.ok("schema", "show", operation.replace(" ", "."), "--json").out)

    def test_top_level_help_names_every_operation(self):
        for words in (("--help",), ("-h",)):
            done = self.sshx.ok(*words)
            self.assertEqual(done.err, b"")
            for operation in _OPERATIONS:
                self.assert_mentions(done.text, operation.split()[-1])
            self.assert_mentions(done.text, "255")

    def test_help_of_each_operation_names_each_flag(self):
        for operation in _OPERATIONS:
            with self.subTest(operation):
                done = self.sshx.ok(*operation.split(), "--help")
                self.assertEqual(done.err, b"")
                self.assert_mentions(done.text, f"sshx {operation}", "--json", "--request")
                for flag in self.flags(operation):
                    self.assertIn(flag, done.text)
                # Help that teaches has an example of its own operation.
                self.assertGreaterEqual(done.text.count(f"sshx {operation}"), 2, done)

    def flags(self, operation):
        """The flags that the request schema implies by the rules of design §2."""
        singular = {"targets": "target", "groups": "group", "tags": "tag", "key_types": "key-type", "all_hosts": "all",
                    "stdin_inherit": "stdin"}  # fmt: skip
        no_flag = {"command", "stdin", "stdin_base64"}
        positional = {"name"} if operation not in ("host list",) else set()
        if operation == "audit show":
            positional = {"execution_id"}
        for name in self.schema(operation)["properties"]:
            if name not in no_flag | positional:
                yield "--" + singular.get(name, name.removesuffix("_seconds").replace("_", "-"))

    def test_help_shows_defaults_and_choices(self):
        text = self.sshx.ok("run", "--help").text
        self.assert_mentions(text, "best-effort", "read", "change", "60", "10")

    def test_help_fits_a_terminal(self):
        for operation in _OPERATIONS:
            for line in self.sshx.ok(*operation.split(), "--help").text.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_help_needs_nothing_else(self):
        self.sshx.ok("run", "--target", "x", "--help")

    def test_help_after_the_dashes_belongs_to_the_command(self):
        done = self.sshx.expect(255, "run", "--target", "nowhere", "--", "ls", "--help")
        self.assertEqual(done.out, b"")

    def test_help_of_a_group(self):
        done = self.sshx.run("host", "--help")
        self.assertEqual(done.code, 0, done)
        for word in ("add", "update", "remove", "show", "list", "trust", "test"):
            self.assert_mentions(done.text, word)


if __name__ == "__main__":
    unittest.main()
