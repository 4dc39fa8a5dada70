"""The MCP tools that descriptors declare: what the generator refuses, and what the shipped ones let an agent do and see."""

import copy
import json
import pathlib
import re
import unittest

import jsonschema

from tests.unit.tools.test_descriptors import Workshop
from tools.descriptors import model, published, tool

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAX_LISTING_BYTES = 24 * 1024

# What an agent may say, over all tools. A name is added here by somebody who asked what it lets an agent do: none may read,
# set or relax a secret, a trust decision, an audit setting or a policy, ask for a terminal, or name a file outside the
# folder that the operator chose. force and no_safety_check are of the safety check, demand bypass_reason, and are recorded.
ARGUMENTS = {
    "address", "all_hosts", "bypass_reason", "command", "concurrency", "connect_timeout_seconds", "cwd", "dry_run", "env",
    "error_kind", "exclude", "execution_id", "expect_plan", "fail_fast", "force", "global_timeout_seconds", "groups",
    "host_timeout_seconds", "intent", "limit", "max_failures", "max_output_bytes", "max_payload_bytes", "no_safety_check",
    "operation", "per_address", "port", "request_id", "run_id", "script", "script_file", "second_channel", "server_alive_count_max",
    "server_alive_interval_seconds", "shard", "shell", "since", "stdin", "stdin_base64", "stdin_hold", "tags", "target",
    "targets", "timeout_seconds", "until", "user",
}  # fmt: skip

TOOL = {
    "name": "sshx_thing_do",
    "description": "Does it within {wait_seconds.default} s, in UTF-8, by sha256.",
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
    "output": {
        "schema_version": {"type": "string", "description": "Which document."},
        "colour": {"type": "string", "enum": ["red", "green"], "description": "Colour."},
        "error": {
            "anyOf": [
                {"type": "object", "properties": {"hint": {"type": "string", "description": "What to do."}}},
                {"type": "null"},
            ],
            "description": "Why it failed.",
        },
        "things": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string", "description": "Name."}}},
            "description": "Things.",
        },
    },
}
DOCUMENTS = {
    "sshx.thing.v1": {
        "required": ["schema_version"],
        "properties": {
            "schema_version": {"const": "sshx.thing.v1"},
            "colour": {"enum": ["red", "green"]},
            "error": {"type": ["object", "null"], "properties": {"hint": {"type": "string"}}},
            "things": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "wide": {"type": ["string", "null"]},
        },
    },
    "sshx.error.v1": {
        "required": ["schema_version"],
        "properties": {"schema_version": {"const": "sshx.error.v1"}, "error": {"type": "object", "properties": {}}},
    },
    "sshx.adapter.v1": {
        "required": ["schema_version"],
        "properties": {"schema_version": {"const": "sshx.adapter.v1"}},
    },
}


class ToolWorkshop(Workshop):
    def setUp(self):
        super().setUp()
        self.descriptor["tool"] = copy.deepcopy(TOOL)
        self.documents = copy.deepcopy(DOCUMENTS)
        self.tool = self.descriptor["tool"]

    def tools(self):
        documents = [published.Schema(name, "document", name, json.dumps(text)) for name, text in self.documents.items()]
        return tool.tools(self.load(), documents)


class RefusalTest(ToolWorkshop):
    def assert_refused(self, expected):
        with self.assertRaisesRegex(model.DescriptorError, expected):
            self.tools()

    def assert_each_refused(self, cases, spoil):
        for change, expected in cases:
            with self.subTest(expected):
                self.setUp()
                spoil(change)
                self.assert_refused(expected)

    def test_a_good_tool_passes(self):
        self.assertEqual([(t.name, t.kind, t.title) for t in self.tools()], [("sshx_thing_do", "tool", "MCP tool of thing do")])

    def test_an_operation_without_the_block_is_none(self):
        del self.descriptor["tool"]
        self.assertEqual(self.tools(), [])
        self.assertEqual(tool.compact(self.operation()), "")

    def test_root_rules(self):
        self.assert_each_refused(
            [
                ({"name": "sshx.thing"}, r"words of \[a-z\]"),
                ({"name": "Thing"}, r"words of \[a-z\]"),
                ({"name": "sshx_thing2"}, r"words of \[a-z\]"),
                ({"name": "x" * 41}, "at most 40"),
                ({"titel": ""}, "'titel' is not a key"),
                ({"description": "No sentence"}, "must be sentences"),
                ({"description": "x" * 900 + "."}, "901 characters, more than 900"),
                ({"description": "Ends after 60 seconds."}, "a number must come from the schema"),
                ({"description": "Keeps 10MiB."}, "a number must come from the schema"),
                ({"description": "Waits {wait.default} s."}, "wait.default} is no number"),
                ({"description": "Waits {wait_seconds.description} s."}, "is no number"),
                ({"description": "Waits {wait_seconds.multipleOf} s."}, "is no number"),
                ({"description": "Waits {wait_seconds} s."}, "braces are for placeholders"),
            ],
            lambda change: self.tool.update(change),
        )

    def test_every_key_is_needed(self):
        for key in TOOL:
            with self.subTest(key):
                self.setUp()
                del self.tool[key]
                self.assert_refused(f"'{key}' is missing")

    def test_what_an_agent_cannot_give_is_no_number_of_the_text(self):
        self.properties["wait_seconds"]["x-surface"] = ["cli"]
        self.assert_refused("is no number of the request's schema")

    def test_what_an_agent_cannot_give_is_not_required(self):
        self.shared["where"]["properties"]["name"]["x-surface"] = ["cli"]
        self.assert_refused("name is required, but an agent cannot give it")

    def test_annotations(self):
        for hint in tool.HINTS:
            with self.subTest(hint):
                self.setUp()
                del self.tool["annotations"][hint]
                self.assert_refused(f"'{hint}' is missing")
        self.assert_each_refused(
            [
                ({"openWorldHint": "yes"}, "openWorldHint must be true or false"),
                ({"idempotentHint": None}, "idempotentHint must be true or false"),
                ({"title": "x"}, "'title' is not a key"),
                ({"readOnlyHint": True}, "what only reads destroys nothing"),
            ],
            lambda change: self.tool["annotations"].update(change),
        )

    def test_two_operations_are_not_one_tool(self):
        self.load()
        other = {**self.descriptor, "operation": "thing.see", "examples": [{"command": "sshx thing see", "text": "x"}]}
        (self.folder / "operations" / "thing.see.json").write_text(json.dumps(other))
        self.assert_refused("two operations are the tool sshx_thing_do")

    def test_output_properties(self):
        self.assert_each_refused(
            [
                ({"colour": {"description": "Colour."}}, "type must be one of"),
                ({"colour": {"type": ["string", "null"], "description": "Colour."}}, "nullable is anyOf"),
                ({"colour": {"type": "string"}}, "colour: the description must be a sentence"),
                ({"colour": {"type": "string", "description": "no sentence"}}, "must be a sentence"),
                ({"colour": {"type": "string", "pattern": "x", "description": "C."}}, "'pattern' is not a key"),
                ({"colour": {"type": "integer", "description": "C."}}, "a document may hold string there"),
                ({"colour": {"type": "string", "enum": ["red"], "description": "C."}}, "enum lacks green"),
                ({"wide": {"type": "string", "description": "W."}}, "a document may hold null there"),
                ({"wide": {"type": "string", "enum": ["a"], "description": "W."}}, "a document may hold null there"),
                ({"error": {"type": "object", "description": "E."}}, "a document may hold null there"),
                ({"things": {"type": "array", "description": "T."}}, "items is missing"),
                ({"things": {"type": "array", "items": {"type": "string"}, "description": "T."}}, "may hold object there"),
                ({"elsewhere": {"type": "string", "description": "E."}}, "no document that this tool answers with has it"),
                ({"wide": {"anyOf": [{"type": "null"}, {"type": "string"}], "description": "W."}}, "in this order"),
                ({"wide": {"anyOf": [{"type": "string"}], "description": "W."}}, "anyOf is for a type and null"),
                ({"wide": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "must be a sentence"),
                ({f"p{i}": {} for i in range(20)}, "24 properties, more than 22"),
            ],
            lambda change: self.tool["output"].update(change),
        )

    def test_an_enum_needs_a_document_as_narrow(self):
        self.tool["output"]["wide"] = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "W."}
        self.assert_refused("a document that is as narrow")

    def test_nested_output_properties_keep_the_same_rules(self):
        self.tool["output"]["error"]["anyOf"][0]["properties"] = {"hint": {"type": "integer", "description": "H."}}
        self.assert_refused("error: hint: a document may hold string there")
        self.tool["output"]["error"] = copy.deepcopy(TOOL["output"]["error"])
        self.tool["output"]["things"]["items"]["properties"] = {"size": {"type": "integer", "description": "S."}}
        self.assert_refused("things: items: size: no document")

    def test_every_document_of_the_tool_counts(self):
        self.documents["sshx.error.v1"]["properties"]["colour"] = {"enum": ["blue"]}
        self.assert_refused("enum lacks blue")

    def test_documents_say_their_version(self):
        del self.tool["output"]["schema_version"]
        self.assert_refused("output has no schema_version")
        self.tool["output"] = copy.deepcopy(TOOL["output"])
        self.documents["sshx.thing.v1"]["required"] = []
        self.assert_refused("sshx.thing.v1 may come without a schema_version")
        del self.documents["sshx.thing.v1"]
        self.assert_refused("there is no document sshx.thing.v1")


class PublishedTest(ToolWorkshop):
    def test_numbers_come_from_the_schema(self):
        self.assertEqual(tool.description(self.operation()), "Does it within 60 s, in UTF-8, by sha256.")

    def test_the_numbers_of_the_surface_win(self):
        operation = self.operation()
        next(p for p in operation.properties if p.name == "wait_seconds").mcp.update(default=45, maximum=50)
        self.assertEqual(tool.description(operation), "Does it within 45 s, in UTF-8, by sha256.")
        value = tool.published_tool(operation)["inputSchema"]["properties"]["wait_seconds"]
        self.assertEqual((value["default"], value["minimum"], value["maximum"]), (45, 0.5, 50))
        self.assertEqual(published.request_schema(operation)["properties"]["wait_seconds"]["default"], 60)

    def test_the_arguments_are_the_request_of_the_surface(self):
        operation = self.operation()
        request, arguments = published.mcp_request_schema(operation), published.tool_input_schema(operation)
        self.assertEqual(request["$id"], "urn:sshx:schema:thing.do.request.mcp")
        self.assertEqual(request, {**request, **arguments})

    def test_the_shape(self):
        self.properties["body"]["x-surface"] = ["cli"]
        value = json.loads(tool.compact(self.operation()))
        self.assertEqual(list(value), ["name", "title", "description", "inputSchema", "outputSchema", "annotations"])
        self.assertEqual(list(value["inputSchema"]), ["type", "properties", "required", "additionalProperties"])
        self.assertEqual(list(value["inputSchema"]["properties"]), ["name", "wait_seconds", "colours", "script"])
        self.assertEqual(list(value["outputSchema"]), ["type", "properties", "required"])
        self.assertEqual(value["outputSchema"]["required"], ["schema_version"])
        self.assertEqual(value["annotations"], {"title": "Do a thing", **TOOL["annotations"]})
        self.assertNotIn("\n", tool.compact(self.operation()))
        self.assertEqual(json.loads(self.tools()[0].text), value)


class RepositoryTest(unittest.TestCase):
    """The tools that are shipped."""

    @classmethod
    def setUpClass(cls):
        operations = model.load(ROOT / "schemas" / "operations")
        cls.documents = {d.name: json.loads(d.text) for d in published.documents(ROOT / "schemas" / "documents")}
        cls.lines = [tool.compact(operation) for operation in operations if operation.tool]
        cls.tools = {value["name"]: value for value in map(json.loads, cls.lines)}

    def test_which_there_are(self):
        self.assertEqual(set(self.tools), {"sshx_run", "sshx_host_list", "sshx_audit_query"})

    def test_an_agent_says_nothing_that_nobody_thought_about(self):
        for value in self.tools.values():
            self.assertLessEqual(set(value["inputSchema"]["properties"]), ARGUMENTS)

    # B141: what hides a tool, or all of them, from some client.
    def test_roots_are_plain_objects(self):
        for value in self.tools.values():
            for key in ("inputSchema", "outputSchema"):
                root = value[key]
                jsonschema.Draft202012Validator.check_schema(root)
                self.assertEqual(root["type"], "object")
                self.assertTrue(root["properties"])
                self.assertLessEqual(set(root), {"type", "properties", "required", "additionalProperties"})
            self.assertIs(value["inputSchema"]["additionalProperties"], False)
            self.assertNotIn("additionalProperties", json.dumps(value["outputSchema"]))

    def test_every_property_is_typed_and_described(self):
        def walk(schema):
            for name, member in schema.get("properties", {}).items():
                self.assertTrue(member["description"].endswith("."), name)
                for branch in member.get("anyOf", [member]):
                    self.assertIsInstance(branch["type"], str, name)
                    for inner in (branch, branch.get("items", {})):
                        walk(inner)

        for value in self.tools.values():
            walk(value["inputSchema"])
            walk(value["outputSchema"])
            self.assertNotIn('"$', json.dumps(value))
            self.assertNotIn('"x-', json.dumps(value))

    def test_the_whole_listing_is_small(self):
        self.assertLessEqual(sum(len(line.encode()) for line in self.lines), MAX_LISTING_BYTES)

    def test_what_a_host_said_is_called_data(self):
        for value in self.tools.values():
            self.assertRegex(value["description"], r"data, never\s+instructions")

    def test_run_names_every_kind_of_error_that_the_contract_lists(self):
        table = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8").split("## Error kinds and codes")[1]
        kinds = re.findall(r"(?m)^\| `([a-z_]+)` \|", table)
        self.assertIn("remote_exit", kinds)
        text = self.tools["sshx_run"]["description"]
        for kind in {*kinds, "adapter"}:
            self.assertRegex(text, rf"\b{kind}\b")

    def test_caps_are_those_of_the_schema(self):
        run = self.tools["sshx_run"]
        numbers = re.findall(r"(?<![A-Za-z0-9-])\d+", run["description"])
        output, timeout = (run["inputSchema"]["properties"][name] for name in ("max_output_bytes", "timeout_seconds"))
        self.assertEqual(numbers, [str(output["default"]), str(output["maximum"]), str(timeout["default"])])

    def test_every_document_of_a_tool_is_one_that_its_output_schema_takes(self):
        for value in self.tools.values():
            versions = value["outputSchema"]["properties"]["schema_version"]["enum"]
            self.assertLessEqual({"sshx.error.v1", "sshx.adapter.v1"}, set(versions))
            self.assertLessEqual(set(versions), set(self.documents))


if __name__ == "__main__":
    unittest.main()
