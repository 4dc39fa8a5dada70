"""`--surface mcp`: what an agent asks for, tried from the outside; whatever relaxes anything is refused."""

import json
import os
import re
import unittest

from tests.lab import TargetCase

# What an agent may say, operation by operation. A property that is added to one of them has to be added here by hand.
AGENT_PROPERTIES = {
    "run": {
        "address", "all_hosts", "bypass_reason", "command", "concurrency", "connect_timeout_seconds", "cwd", "dry_run", "env",
        "exclude", "expect_plan", "fail_fast", "force", "global_timeout_seconds", "groups", "host_timeout_seconds", "intent",
        "max_failures", "max_output_bytes", "max_payload_bytes", "no_safety_check", "per_address", "port", "request_id", "script",
        "script_file", "second_channel", "server_alive_count_max", "server_alive_interval_seconds", "shard", "shell", "stdin",
        "stdin_base64", "stdin_hold", "tags", "targets", "timeout_seconds", "user",
    },
    "host list": {"groups", "tags"},
    "audit query": {
        "error_kind", "execution_id", "limit", "operation", "request_id", "run_id", "since", "target", "until",
    },
}  # fmt: skip
# Kept to the command line: trust, keys, the terminal, files and streams of whoever calls.
COMMAND_LINE_ONLY = {
    "accept_unknown_host", "hosts_from", "identities_only", "identity", "identity_agent", "insecure_hostkey", "known_hosts",
    "pty", "script_stdin", "stdin_file", "stdin_inherit",
}  # fmt: skip
# Options beside the request: how the answer looks, or a fence that they can only make narrower.
HARMLESS_OPTIONS = {
    "--allow-group", "--allow-target", "--die-with-parent", "--gather", "--help", "--json", "--jsonl", "--local-root", "--quiet",
    "--read-only", "--request", "--safe-output", "--stream", "--surface",
}  # fmt: skip
EVIDENCE_OPTIONS = {"--audit": "off", "--audit-db": "elsewhere.db"}


def sample(schema):
    """A value that a property's schema takes."""
    if schema["type"] == "boolean":
        return True
    if schema["type"] == "array":
        return [sample({"type": "string", **schema["items"]})]
    if schema["type"] in ("integer", "number"):
        return schema.get("minimum", 1)
    return schema["enum"][0] if "enum" in schema else "key=value"


class SurfaceCase(TargetCase):
    def schema(self, operation, *options):
        return json.loads(self.sshx.ok("schema", "show", operation.replace(" ", "."), *options).text)["properties"]

    def options_of(self, operation):
        """The long options that --help shows."""
        return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", self.sshx.ok(*operation.split(), "--help").text, re.MULTILINE))

    def ask(self, operation, request, *options, **keywords):
        text = json.dumps(request).encode("utf-8")
        return self.sshx.json(
            *operation.split(), "--surface", "mcp", "--request", "-", *options, stdin=text, **keywords)  # fmt: skip

    def assert_refused(self, document, kind, code):
        self.assert_fields(document, success=False, error__kind=kind, error__code=code)


class InventoryOfSurfaceTest(SurfaceCase):
    def test_each_property_is_known_to_this_test(self):
        for operation, expected in AGENT_PROPERTIES.items():
            with self.subTest(operation):
                all_of_them = set(self.schema(operation))
                self.assertEqual(set(self.schema(operation, "--surface", "mcp")), expected)
                self.assertEqual(all_of_them - expected, COMMAND_LINE_ONLY if operation == "run" else set())

    def test_each_option_is_known_to_this_test(self):
        for operation in AGENT_PROPERTIES:
            with self.subTest(operation):
                by_property = {"--" + word for word in self.flags_of(operation)}
                beside = self.options_of(operation) - by_property
                self.assertLessEqual(beside, HARMLESS_OPTIONS | set(EVIDENCE_OPTIONS))
                self.assertIn("--surface", beside)
                self.assertEqual(beside, beside & self.completed(operation) | {"--help"})

    def flags_of(self, operation):
        """The flags of the request's properties, by the rule that descriptors follow."""
        singular = {"targets": "target", "groups": "group", "tags": "tag", "stdin_inherit": "stdin"}
        return {
            singular.get(name, name.removesuffix("_seconds").replace("_", "-")) for name in self.schema(operation)}  # fmt: skip

    def completed(self, operation):
        folder = os.environ.get("SSHX_GENERATED") or os.path.join(os.path.dirname(self.sshx.binary), "generated")
        with open(os.path.join(folder, "completions", "sshx.bash"), encoding="utf-8") as file:
            cases = file.read().split("_sshx_options() {", 1)[1].split("esac", 1)[0]
        (line,) = re.findall(rf"'{operation.replace(' ', '.')}'\) echo '([^']*)'", cases)
        return set(line.split())

    def test_the_numbers_of_agents(self):
        run = self.schema("run", "--surface", "mcp")
        self.assertEqual(run["timeout_seconds"]["default"], 45)
        self.assertEqual((run["max_output_bytes"]["default"], run["max_output_bytes"]["maximum"]), (24576, 1048576))
        self.assertEqual((run["max_payload_bytes"]["default"], run["max_payload_bytes"]["maximum"]), (4194304, 4194304))
        limit = self.schema("audit query", "--surface", "mcp")["limit"]
        self.assertEqual((limit["default"], limit["maximum"]), (20, 500))

    def test_what_agents_cannot_ask_for_has_no_such_schema(self):
        for operation in ("host add", "host trust", "audit show", "schema show"):
            with self.subTest(operation):
                document = self.sshx.json("schema", "show", operation.replace(" ", "."), "--surface", "mcp", code=255)
                self.assert_refused(document, "config", "unknown_schema")
                refused = self.sshx.json(*operation.split(), "--surface", "mcp", "x", "--request", "-", code=255, stdin=b"{}")
                self.assertIs(refused["success"], False)


class RelaxationTest(SurfaceCase):
    """Nothing on this surface relaxes trust, evidence, secrets, the terminal or paths."""

    def setUp(self):
        super().setUp()
        # Whatever would come through would be seen: nothing listens there.
        self.sshx.ok("host", "update", "target", "--port", "1")

    def test_no_property_of_the_command_line_in_a_request(self):
        schema = self.schema("run")
        for name in sorted(COMMAND_LINE_ONLY):
            with self.subTest(name):
                request = {"targets": ["target"], "command": "id", name: sample(schema[name])}
                document = self.ask("run", request, code=255)
                self.assert_refused(document, "config", "unknown_property")
                self.assertNotIn(f"did you mean {name}", document["error"]["hint"])

    def test_no_property_of_the_command_line_as_an_option(self):
        schema = self.schema("run")
        for name in sorted(COMMAND_LINE_ONLY):
            with self.subTest(name):
                flag = "--stdin" if name == "stdin_inherit" else f"--{name.replace('_', '-')}"
                value = () if schema[name]["type"] == "boolean" else ("x",)
                document = self.sshx.json(
                    "run", "--surface", "mcp", "--target", "target", flag, *value, "--", "id", code=255)  # fmt: skip
                self.assert_refused(document, "config", "unknown_property")

    def test_no_option_that_hides_from_the_evidence(self):
        for operation in AGENT_PROPERTIES:
            known = self.options_of(operation)
            for option, value in EVIDENCE_OPTIONS.items():
                if option not in known:
                    continue
                for words in ((option, value), (f"{option}={value}",)):
                    with self.subTest((operation, words)):
                        document = self.ask(operation, {"targets": ["target"], "command": "id"}, *words, code=255)
                        self.assert_refused(document, "config", "usage")
                        self.assertFalse(os.path.exists(os.path.join(self.sshx.directory, "elsewhere.db")))

    def test_no_name_of_an_option_in_a_request(self):
        for operation in AGENT_PROPERTIES:
            for option in sorted(HARMLESS_OPTIONS | set(EVIDENCE_OPTIONS)):
                name = option.removeprefix("--").replace("-", "_")
                for spelling in {name, option, name + "s"}:
                    with self.subTest((operation, spelling)):
                        document = self.ask(operation, {spelling: "off"}, code=255)
                        self.assert_refused(document, "config", "unknown_property")

    def test_the_surface_cannot_be_given_twice(self):
        for words in (("--surface", "cli"), ("--surface=cli",)):
            document = self.ask("run", {"targets": ["target"], "command": "id"}, *words, code=255)
            self.assert_refused(document, "config", "usage")

    def test_more_than_an_agent_may_ask_for(self):
        run = {"targets": ["target"], "command": "id", "dry_run": True}
        for operation, request in (
            ("run", {**run, "max_output_bytes": 1048577}),
            ("run", {**run, "max_payload_bytes": 4194305}),
            ("audit query", {"limit": 501}),
        ):
            with self.subTest(request):
                self.assert_refused_somehow(self.ask(operation, request, code=255), "range")

    def assert_refused_somehow(self, document, code):
        self.assertEqual((document["error"]["kind"], document["error"]["code"]), ("config", code))

    # B114, B150, B151
    def test_values_do_not_become_options(self):
        for request in (
            {"targets": ["-oProxyCommand=touch pwned"], "command": "id"},
            {"targets": ["--audit=off"], "command": "id"},
            {"targets": ["target\n--audit=off"], "command": "id"},
            {"address": "-oProxyCommand=touch pwned", "command": "id"},
            {"address": "--insecure-hostkey", "command": "id"},
            {"targets": ["target"], "user": "-oProxyCommand=touch pwned", "command": "id"},
            {"targets": ["target"], "user": "--accept-unknown-host", "command": "id"},
            {"targets": ["target"], "request_id": "--audit=off x", "command": "id"},
            {"targets": ["target"], "shell": "-c", "script": "id"},
            {"targets": ["target"], "env": ["--audit=off"], "command": "id"},
        ):
            with self.subTest(request):
                document = self.ask("run", request, code=255)
                self.assertEqual(document["error"]["kind"], "config")
                self.assertEqual(document["schema_version"], "sshx.error.v1")
        self.assertEqual(self.sshx.json("audit", "query", code=0)["count"], 0)
        self.assertFalse(os.path.exists(os.path.join(self.sshx.directory, "pwned")))


class WorkTest(SurfaceCase):
    def test_a_run_with_the_numbers_of_agents(self):
        preview = self.ask("run", {"targets": ["target"], "command": "seq 10000", "dry_run": True}, code=0)
        self.assertEqual(preview["plan"]["limits"]["timeout_ms"], 45000)
        self.assertEqual(preview["plan"]["limits"]["max_output_bytes"], 24576)
        document = self.ask("run", {"targets": ["target"], "command": "seq 10000"}, code=0)
        self.assert_fields(document, success=True, stdout_truncated=True, stdout_bytes=48894, plan_hash=preview["plan"]["plan_hash"])
        longer = self.ask("run", {"targets": ["target"], "command": "true", "timeout_seconds": 90, "dry_run": True}, code=0)
        self.assertEqual(longer["plan"]["limits"]["timeout_ms"], 90000)

    def test_a_command_that_looks_like_an_option_is_a_command(self):
        document = self.ask("run", {"targets": ["target"], "command": "echo --audit=off --json"}, code=0)
        self.assertEqual(document["stdout"], "--audit=off --json\n")

    def test_hosts_and_evidence(self):
        self.ask("run", {"targets": ["target"], "command": "true"}, code=0)
        (host,) = self.ask("host list", {}, code=0)["hosts"]
        self.assertEqual(host["name"], "target")
        (event,) = self.ask("audit query", {"target": "target"}, code=0)["events"]
        self.assert_fields(event, operation="run", outcome="succeeded")

    def test_the_evidence_says_who_called(self):
        for value, entry in (("mcp", "mcp"), (None, "cli"), ("cli", "cli"), ("", "cli"), ("MCP", "cli"), ("mcp\n", "cli")):
            with self.subTest(value):
                environment = {"SSHX_ENTRY": value}
                document = self.ask("run", {"targets": ["target"], "command": "true"}, code=0, environment=environment)
                answer = self.sshx.json("audit", "query", "--execution-id", document["execution_id"], code=0)
                self.assertEqual([event["entry"] for event in answer["events"]], [entry])

    def test_who_called_decides_nothing(self):
        document = self.sshx.json(
            "run", "--target", "target", "--timeout", "50s", "--stdin", "--dry-run", "--", "cat", code=0,
            environment={"SSHX_ENTRY": "mcp"})  # fmt: skip
        self.assertEqual(document["plan"]["limits"]["max_output_bytes"], 10485760)


if __name__ == "__main__":
    unittest.main()
