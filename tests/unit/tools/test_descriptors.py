"""The generator of tools/descriptors: what it refuses, and what it makes of good descriptors."""

import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import jsonschema

from tools.descriptors import completion, generate, mdoc, model, published, tables

ROOT = pathlib.Path(__file__).resolve().parents[3]

SHARED = {
    "where": {
        "title": "Where",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Name.", "x-cli": {"positional": 0, "value": "NAME", "complete": "host"}},
        },
    },
    "presentation": {
        "title": "Output",
        "properties": {"json": {"type": "boolean", "default": False, "description": "Print JSON."}},
    },
}
DESCRIPTOR = {
    "operation": "thing.do",
    "title": "Do a thing",
    "summary": "Do one thing",
    "description": "Does it. Then `stops`.",
    "document": "sshx.thing.v1",
    "examples": [{"command": "sshx thing do web-1", "text": "Do it."}],
    "presentation": ["json"],
    "request": {
        "x-include": ["where"],
        "required": ["name"],
        "properties": {
            "wait_seconds": {
                "type": "number", "minimum": 0.5, "maximum": 3600, "default": 60, "description": "How long.", "x-group": "Limits",
                "x-cli": {"value": "TIME", "short": "w"},
            },
            "colours": {
                "type": "array", "items": {"type": "string", "enum": ["red", "green"]}, "description": "Colours.",
                "x-group": "Limits", "x-cli": {"flag": "colour", "value": "COLOUR"},
            },
            "body": {"type": "string", "description": "Text.", "x-group": "Input", "x-cli": {"flag": None}},
            "script": {"type": "string", "description": "Script.", "x-group": "Input", "x-cli": {"positional": "rest", "value": "WORD"}},
        },
    },
}  # fmt: skip


class Workshop(unittest.TestCase):
    """A folder with descriptors that a test may spoil."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.shared = copy.deepcopy(SHARED)
        self.descriptor = copy.deepcopy(DESCRIPTOR)
        self.properties = self.descriptor["request"]["properties"]

    def load(self):
        operations = self.folder / "operations"
        operations.mkdir(exist_ok=True)
        (operations / "_shared.json").write_text(json.dumps(self.shared))
        (operations / "thing.do.json").write_text(json.dumps(self.descriptor))
        return model.load(operations)

    def operation(self):
        return self.load()[0]


class RefusalTest(Workshop):
    def assert_refused(self, expected):
        with self.assertRaisesRegex(model.DescriptorError, expected):
            self.load()

    def spoil(self, name, **changes):
        self.properties[name].update(changes)

    def test_good_descriptors_pass(self):
        self.assertEqual([p.name for p in self.operation().properties], ["name", "wait_seconds", "colours", "body", "script"])

    def test_property_rules(self):
        cases = [
            ({"type": "object"}, "type must be one of"),
            ({"type": ["string", "null"]}, "type must be one of"),
            ({"oneOf": []}, "'oneOf' is not a key"),
            ({"$ref": "#/x"}, r"'\$ref' is not a key"),
            ({"minLength": 1}, "'minLength' is not a key"),
            ({"description": "no sentence"}, "must be a sentence"),
            ({"default": 5000}, "default 5000 does not keep"),
            ({"default": "60"}, "default '60' does not keep"),
            ({"x-surface": ["mcp"]}, "x-surface"),
            ({"x-surface": ["cli"], "x-mcp": {"default": 5}}, "x-mcp is of no use"),
            ({"x-mcp": {}}, "x-mcp changes nothing"),
            ({"x-mcp": {"minimum": 5}}, "'minimum' is not a key"),
            ({"x-mcp": {"default": "5"}}, "x-mcp: default '5' does not keep"),
            ({"x-mcp": {"default": 5000}}, "x-mcp: default 5000 does not keep"),
            ({"x-mcp": {"default": 45, "maximum": 30}}, "x-mcp: default 45 does not keep"),
            ({"x-mcp": {"maximum": 30}}, "x-mcp: default 60 does not keep"),
            ({"x-mcp": {"maximum": 5000}}, "x-mcp: maximum 5000 does not keep"),
            ({"x-mcp": {"maximum": True}}, "x-mcp: maximum True does not keep"),
            ({"x-cli": {"value": "SECONDS"}}, "called TIME"),
            ({"x-cli": {"value": "TIME", "flag": "Wait_For"}}, "kebab-case"),
            ({"x-cli": {"value": "TIME", "short": "wt"}}, "one letter"),
            ({"x-cli": {"value": "TIME", "flag": "json"}}, "--json is taken"),
            ({"x-cli": {"value": "TIME", "flag": "help"}}, "--help is taken"),
            ({"x-cli": {"value": "TIME", "flag": "colour"}}, "--colour is taken"),
            ({"x-cli": {"value": "TIME", "short": "h"}}, "-h is taken"),
            ({"x-cli": {"value": "TIME", "flag": "thing-do"}}, "--thing-do is a spelling of an operation"),
            ({"x-cli": {"value": "TIME", "complete": "moon"}}, "complete must be"),
            ({"x-cli": {"value": "TIME", "commas": True}}, "commas is for lists"),
            ({"x-cli": {"valeu": "TIME"}}, "'valeu' is not a key"),
            ({"x-cli": {}}, "name of the value"),
        ]
        for changes, expected in cases:
            with self.subTest(expected):
                self.setUp()
                self.spoil("wait_seconds", **changes)
                self.assert_refused(expected)

    def test_names_are_snake_case(self):
        self.properties["bodyText"] = self.properties.pop("body")
        self.assert_refused("snake_case")

    def test_numbers_are_durations(self):
        self.properties["ratio"] = {"type": "number", "description": "A ratio.", "x-group": "G", "x-cli": {"value": "TIME"}}
        self.assert_refused(r"\*_seconds and only those are numbers")

    def test_bytes_are_sizes(self):
        self.properties["max_bytes"] = {"type": "integer", "description": "Most.", "x-group": "G", "x-cli": {"value": "N"}}
        self.assert_refused("called SIZE")

    def test_booleans_are_false_by_default(self):
        self.properties["quick"] = {"type": "boolean", "default": True, "description": "Quickly.", "x-group": "G"}
        self.assert_refused("false by default")

    def test_lists_hold_strings_and_have_a_singular_flag(self):
        self.spoil("colours", items={"type": "integer"})
        self.assert_refused("items must be strings")
        self.spoil("colours", items={"type": "string"}, **{"x-cli": {"value": "COLOUR"}})
        self.assert_refused("singular flag")

    def test_patterns_stay_within_what_the_matcher_knows(self):
        for pattern in ("abc", "^(a|b)$", "^\\d+$", "^[^=]{3}$", "^a+?$", "^a(?=b)$"):
            with self.subTest(pattern):
                self.properties["body"]["pattern"] = pattern
                self.assert_refused("outside the subset")
        for pattern in ("^[A-Za-z0-9._:-]+$", "^[^=]+=.+$", "^a\\.b{2,3}$"):
            self.properties["body"]["pattern"] = pattern
            self.load()

    def test_a_clash_with_a_shared_property(self):
        self.properties["name"] = self.properties["body"]
        self.assert_refused("name: declared twice")

    def test_an_include_that_is_not_there(self):
        self.descriptor["request"]["x-include"] = ["elsewhere"]
        self.assert_refused("'elsewhere' is not a group")

    def test_a_required_property_that_is_not_there(self):
        self.descriptor["request"]["required"] = ["nmae"]
        self.assert_refused("required names 'nmae'")

    def test_positions_without_a_gap(self):
        self.shared["where"]["properties"]["name"]["x-cli"]["positional"] = 1
        self.assert_refused("without a gap")

    def test_an_x_mcp_of_a_text_has_no_maximum(self):
        self.spoil("body", **{"x-mcp": {"maximum": 3}})
        self.assert_refused("x-mcp: maximum 3 does not keep")

    def test_a_shared_group_has_its_keys(self):
        self.shared["where"]["presentaton"] = True
        self.assert_refused("_shared.json: where: 'presentaton' is not a key")

    def test_a_group_cannot_be_request_and_presentation_at_once(self):
        self.shared["fence"] = {"title": "Fence", "presentation": True, "properties": {
            "closed": {"type": "boolean", "default": False, "description": "Closed."}}}
        self.descriptor["presentation"] = ["json", "fence"]
        self.descriptor["request"]["x-include"] = ["where", "fence"]
        self.assert_refused("--closed is taken")

    def test_own_properties_have_a_group(self):
        del self.properties["body"]["x-group"]
        self.assert_refused("x-group is missing")

    def test_root_rules(self):
        cases = [
            ({"operation": "thing.undo"}, "the file says"),
            ({"titel": ""}, "'titel' is not a key"),
            ({"summary": " "}, "summary is empty"),
            ({"examples": []}, "an example is missing"),
            ({"examples": [{"command": "sshx other", "text": "x"}]}, "is not of this operation"),
            ({"examples": [{"command": "sshx thing", "text": "x"}]}, "is not of this operation"),
            ({"group_default": 1}, "group_default is true"),
            ({"examples": [{"command": "sshx thing do " + "x" * 70, "text": "x"}]}, "longer than 78 columns"),
            ({"presentation": ["jsno"]}, "'jsno' is not in _shared.json"),
            ({"presentation": ["json", "where"]}, "'where' is not in _shared.json, or not a group of such options"),
            ({"presentation": ["json", "presentation"]}, "'presentation' is not in _shared.json"),
        ]
        for changes, expected in cases:
            with self.subTest(expected):
                self.setUp()
                self.descriptor.update(changes)
                self.assert_refused(expected)

    def test_a_key_that_stands_twice(self):
        self.load()
        path = self.folder / "operations" / "thing.do.json"
        path.write_text(path.read_text().replace("{", '{"title": "x",', 1))
        with self.assertRaisesRegex(model.DescriptorError, "title stands twice"):
            model.load(path.parent)

    def test_one_operation_of_a_group_is_its_default(self):
        self.descriptor["group_default"] = True
        self.descriptor["examples"].append({"command": "sshx thing", "text": "The group's word alone."})
        self.assertTrue(self.operation().group_default)
        other = {**self.descriptor, "operation": "thing.see", "examples": [{"command": "sshx thing see", "text": "x"}]}
        (self.folder / "operations" / "thing.see.json").write_text(json.dumps(other))
        with self.assertRaisesRegex(model.DescriptorError, "two operations are the group's default"):
            model.load(self.folder / "operations")

    def test_an_operation_whose_words_begin_anothers(self):
        self.load()
        other = {**self.descriptor, "operation": "thing", "examples": [{"command": "sshx thing", "text": "x"}]}
        (self.folder / "operations" / "thing.json").write_text(json.dumps(other))
        with self.assertRaisesRegex(model.DescriptorError, "thing.do.json: the operation thing takes its words"):
            model.load(self.folder / "operations")

    def test_a_flag_that_takes_a_value_in_one_operation_only(self):
        self.load()
        other = copy.deepcopy(DESCRIPTOR)
        other.update(operation="thing.see", examples=[{"command": "sshx thing see", "text": "x"}])
        other["request"]["properties"] = {
            "wait": {"type": "boolean", "default": False, "description": "Wait.", "x-group": "G"}}
        (self.folder / "operations" / "thing.see.json").write_text(json.dumps(other))
        with self.assertRaisesRegex(model.DescriptorError, "--wait .* takes a value in one operation"):
            model.load(self.folder / "operations")


class OutputTest(Workshop):
    def test_request_schema_is_plain_and_closed(self):
        schema = published.request_schema(self.operation())
        self.assertEqual(list(schema["properties"]), ["name", "wait_seconds", "colours", "body", "script"])
        self.assertEqual(schema["required"], ["name"])
        self.assertIs(schema["additionalProperties"], False)
        self.assertNotIn("x-", json.dumps(schema))
        self.assertEqual(schema["properties"]["wait_seconds"]["default"], 60)

    def test_the_schema_for_agents_has_their_numbers(self):
        self.properties["wait_seconds"]["x-mcp"] = {"default": 45, "maximum": 50}
        self.properties["body"]["x-surface"] = ["cli"]
        schema = published.mcp_request_schema(self.operation())
        self.assertEqual(list(schema["properties"]), ["name", "wait_seconds", "colours", "script"])
        wait = schema["properties"]["wait_seconds"]
        self.assertEqual((wait["minimum"], wait["default"], wait["maximum"]), (0.5, 45, 50))
        self.assertNotIn("x-", json.dumps(schema))
        self.assertEqual(published.request_schema(self.operation())["properties"]["wait_seconds"]["default"], 60)

    def test_agents_reach_operations_that_know_surfaces(self):
        self.assertEqual([schema.mcp_text for schema in published.requests(self.load())], [""])
        self.shared["presentation"]["properties"]["surface"] = {
            "type": "string", "description": "For whom.", "x-cli": {"value": "SURFACE"}}
        self.descriptor["presentation"] = ["json", "surface"]
        (schema,) = published.requests(self.load())
        self.assertEqual(json.loads(schema.mcp_text), published.mcp_request_schema(self.operation()))

    def test_a_group_of_presentation_options(self):
        self.shared["fence"] = {"title": "Fence", "presentation": True, "properties": {
            "closed": {"type": "boolean", "default": False, "description": "Closed."}}}
        self.descriptor["presentation"] = ["json", "fence"]
        self.assertEqual([(p.name, p.group) for p in self.operation().presentation], [("json", "Output"), ("closed", "Fence")])
        self.assertNotIn("closed", published.request_schema(self.operation())["properties"])

    def test_literals_survive_the_compiler(self):
        for text in ('plain', 'quote " and \\ slash', "line\nbreak", "umlaut ü €", "digit after \x011", "?" + "?/", "x" * 40_000):
            with self.subTest(text[:20]):
                pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', tables.literal(text))
                read = b"".join(piece.encode().decode("unicode_escape").encode("latin-1") for piece in pieces)
                self.assertEqual(read.decode(), text)

    def test_man_page_shows_options_and_examples(self):
        text = mdoc.options(self.operation())
        self.assertIn("From 0.5s to 1h.", text)
        self.assertIn("Default: 60s.", text)
        self.assertIn(".It Fl w , Fl -wait Ar TIME\n", text)
        self.assertIn("One of\n.Ql \\&red ,\n.Ql green .\n", text)
        self.assertNotIn("body", text)
        self.assertIn("sshx thing do web\\-1", mdoc.examples(self.operation()))

    def test_every_operation_needs_a_page(self):
        operations = self.load()
        (self.folder / "a.1.in").write_text("@OPTIONS thing.do@\n")
        self.assertEqual(list(mdoc.pages(self.folder, operations, "1")), ["a.1"])
        (self.folder / "a.1.in").write_text("prose\n")
        with self.assertRaisesRegex(model.DescriptorError, "no page has @OPTIONS thing.do@"):
            mdoc.pages(self.folder, operations, "1")
        (self.folder / "a.1.in").write_text("@OPTIONS thing.do@\n@EXAMPLES thing.od@\n")
        with self.assertRaisesRegex(model.DescriptorError, "there is no such operation"):
            mdoc.pages(self.folder, operations, "1")

    def test_text_cannot_become_a_macro(self):
        self.assertEqual(mdoc.sentences(".Sh is text. 'so is this"), ["\\&.Sh is text. 'so is this"])
        self.assertEqual(mdoc.sentences("See `No`. Then go."), ["See", ".Ql \\&No .", "Then go."])
        self.assertEqual(mdoc.escape("a\\b-c"), "a\\eb\\-c")

    def test_unchanged_files_are_left_alone(self):
        generate.write_changed(self.folder, {"x/a": "1", "b": "2"})
        os.utime(self.folder / "x" / "a", (1, 1))
        os.utime(self.folder / "b", (1, 1))
        generate.write_changed(self.folder, {"x/a": "1", "b": "3"})
        self.assertEqual(os.stat(self.folder / "x" / "a").st_mtime, 1)
        self.assertGreater(os.stat(self.folder / "b").st_mtime, 1)

    def test_faults_end_the_build_with_one_line(self):
        self.descriptor["summary"] = ""
        with self.assertRaises(model.DescriptorError):
            self.load()
        done = subprocess.run(
            ["/usr/bin/python3", "-B", ROOT / "tools/descriptors/generate.py", "--schemas", self.folder, "--man", self.folder,
             "--out", self.folder / "out", "--version", "1"],
            capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (1, "generate.py: thing.do.json: summary is empty\n"))


class CompletionTest(Workshop):
    """The completion of the small operation, in a real bash without the bash-completion package."""

    def complete(self, *words):
        path = self.folder / "sshx.bash"
        path.write_text(completion.bash(self.load(), [published.Schema("thing.do", "request", "t", "{}")]))
        bin_folder = self.folder / "bin"
        bin_folder.mkdir(exist_ok=True)
        (bin_folder / "sshx").write_text("#!/bin/sh\necho 'NAME  ADDRESS'\necho 'web-1  h'\necho 'db-1  h'\n")
        (bin_folder / "sshx").chmod(0o755)
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _sshx; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", script, "-", path, *words], capture_output=True, text=True, check=False,
            env={"PATH": f"{bin_folder}:/usr/bin:/bin"})  # fmt: skip
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_words_options_values_and_names(self):
        self.assertEqual(self.complete("sshx", ""), ["thing"])
        self.assertEqual(self.complete("sshx", "thing", ""), ["do"])
        self.assertEqual(self.complete("sshx", "thing", "do", ""), ["web-1", "db-1"])
        self.assertEqual(self.complete("sshx", "thing", "do", "w"), ["web-1"])
        self.assertEqual(self.complete("sshx", "thing", "do", "--co"), ["--colour"])
        self.assertEqual(self.complete("sshx", "thing", "do", "--colour", ""), ["red", "green"])
        self.assertEqual(self.complete("sshx", "thing", "do", "--colour", "=", "g"), ["green"])
        self.assertEqual(self.complete("sshx", "thing", "do", "--wait", ""), [])
        self.assertEqual(self.complete("sshx", "thing", "--colour", "=", "red", "do", "w"), ["web-1"])
        self.assertEqual(self.complete("sshx", "--v"), ["--version"])


class RepositoryTest(unittest.TestCase):
    """The descriptors that are shipped."""

    def test_the_published_schemas_are_valid_schemas(self):
        for operation in model.load(ROOT / "schemas" / "operations"):
            for schema in (published.request_schema(operation), published.mcp_request_schema(operation)):
                jsonschema.Draft202012Validator.check_schema(schema)


if __name__ == "__main__":
    unittest.main()
