"""`sshx schema`, `sshx --version`, the man pages, completion, and the commands that the documentation shows."""

import glob
import itertools
import json
import os
import re
import shlex
import subprocess
import unittest

import jsonschema

from tests.lab import LabCase, TargetCase
from tests.lab.documents import parse
from tests.lab.lab import ROOT
from tests.lab.sshx import binary_path, with_option

_OPERATIONS = (
    "audit.query", "audit.show", "host.add", "host.list", "host.remove", "host.show", "host.test", "host.trust",
    "host.update", "mcp.config", "mcp.serve", "run", "schema.list", "schema.show",
)  # fmt: skip
_DOCUMENTS = (
    "sshx.adapter.v1", "sshx.audit.query.v1", "sshx.error.v1", "sshx.event.v1", "sshx.hosts.v1", "sshx.plan.v1", "sshx.request.v1",
    "sshx.result.v1", "sshx.schemas.v1", "sshx.version.v1",
)  # fmt: skip
_TOOLS = ("sshx_audit_query", "sshx_host_list", "sshx_run")
_USAGE_CODES = ("usage", "unknown_option", "unknown_command", "unknown_property", "type", "range", "required", "pattern")


def generated(*parts):
    """A file that the build generates: in SSHX_GENERATED, else beside the binary."""
    folder = os.environ.get("SSHX_GENERATED") or os.path.join(os.path.dirname(binary_path()), "generated")
    return os.path.join(folder, *parts)


class SchemaTest(LabCase):
    def show(self, name):
        return parse(self.sshx.ok("schema", "show", name).out)

    def test_list_names_every_request_and_document(self):
        document = self.sshx.json("schema", "list", code=0, version="sshx.schemas.v1")
        listed = {(schema["name"], schema["kind"]) for schema in document["schemas"]}
        expected = {(name, "request") for name in _OPERATIONS} | {(name, "document") for name in _DOCUMENTS}
        self.assertLessEqual(expected, listed)
        self.assertEqual({name for name, kind in listed if kind == "tool"}, set(_TOOLS))
        self.assertEqual(document["count"], len(document["schemas"]))
        for schema in document["schemas"]:
            self.show(schema["name"])

    def test_tools_are_shown_as_an_agent_sees_them(self):
        for name in _TOOLS:
            with self.subTest(name):
                tool = self.show(name)
                self.assertEqual(
                    list(tool), ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
                )
                self.assertEqual(tool["name"], name)
                for key in ("inputSchema", "outputSchema"):
                    jsonschema.Draft202012Validator.check_schema(tool[key])
                    self.assertEqual(tool[key]["type"], "object")

    def test_bare_schema_lists(self):
        self.assertEqual(self.sshx.ok("schema").out, self.sshx.ok("schema", "list").out)

    def test_documents_are_those_of_the_repository(self):
        for name in _DOCUMENTS:
            with self.subTest(name):
                self.assertEqual(self.show(name), self.lab.documents.schema(name))

    # Design §2: portable for every agent.
    def test_request_schemas_are_portable(self):
        for name in _OPERATIONS:
            with self.subTest(name):
                schema = self.show(name)
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["type"], "object")
                self.assertIs(schema["additionalProperties"], False)
                self.assertEqual(set(schema) & {"oneOf", "anyOf", "allOf", "not", "if", "$ref", "$defs"}, set())
                text = json.dumps(schema)
                self.assertNotIn('"$ref"', text)
                self.assertNotIn('"x-', text)
                for property_name, definition in schema["properties"].items():
                    self.assertRegex(property_name, r"^[a-z][a-z0-9_]*$")
                    self.assertIsInstance(definition["type"], str, property_name)
                    self.assertTrue(definition["description"], property_name)
                self.assertLessEqual(set(schema.get("required", ())), set(schema["properties"]))

    def test_the_request_schema_agrees_with_the_request_check(self):
        validator = jsonschema.Draft202012Validator(self.show("run"))
        for request in (
            {"targets": ["x"], "command": "true"},
            {"targets": ["x"], "command": "true", "timeout_seconds": 0.1},
            {"targets": ["x"], "command": "true", "timeout_seconds": 0.09},
            {"targets": ["x"], "command": "true", "timeout_seconds": 86400},
            {"targets": ["x"], "command": "true", "timeout_seconds": 86400.5},
            {"targets": ["x"], "command": "true", "timeout_seconds": "1"},
            {"targets": ["x"], "command": "true", "port": 22.0},
            {"targets": ["x"], "command": "true", "port": 22.5},
            {"targets": ["x"], "command": "true", "port": True},
            {"targets": ["x"], "command": "true", "intent": "read"},
            {"targets": ["x"], "command": "true", "intent": "READ"},
            {"targets": ["x"], "command": "true", "request_id": "ä"},
            {"targets": ["x"], "command": "true", "colour": 1},
            {"targets": ["x"], "command": "ä" * 10},
            {"targets": ["x"], "command": ""},
            {"targets": "x", "command": "true"},
            {"targets": ["x", "y"], "command": "true"},
            {"targets": [""], "command": "true"},
        ):
            with self.subTest(request):
                body = json.dumps({**request, "dry_run": True}).encode("utf-8")
                done = self.sshx.run("run", "--request", "-", "--json", stdin=body)
                code = self.sshx.document(done)["error"]["code"]
                # A request that passes the check fails later, because there is no host x.
                self.assertEqual(code == "unknown_target", validator.is_valid(request), code)

    def test_show_what_is_not_there_suggests(self):
        document = self.sshx.json("schema", "show", "sshx.reslt.v1", code=255, version="sshx.error.v1")
        self.assert_fields(document, error__kind="config", error__code="unknown_schema")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "sshx.result.v1")

    def test_show_with_json_prints_one_document(self):
        self.assertEqual(parse(self.sshx.ok("schema", "show", "run", "--json").out), self.show("run"))


class VersionTest(LabCase):
    def test_text(self):
        done = self.sshx.ok("--version")
        self.assertRegex(done.text, r"^sshx \d+\.\d+\.\d+")
        self.assertEqual(done.err, b"")

    def test_json_tells_the_build_of_libssh2(self):
        document = self.sshx.json("--version", code=0, version="sshx.version.v1")
        self.assertIn(document["version"], self.sshx.ok("--version").text)
        self.assertGreaterEqual(tuple(map(int, re.findall(r"\d+", document["libssh2"]["version"])[:3])), (1, 11, 1))


class ManPageTest(LabCase):
    def text(self, path):
        done = subprocess.run(["mandoc", "-T", "utf8", path], capture_output=True, text=True, check=True)
        return re.sub(r".\x08", "", done.stdout)

    def test_every_operation_has_a_page_with_every_flag(self):
        pages = {os.path.basename(path): self.text(path) for path in glob.glob(generated("man", "*.1"))}
        for flag in ("--help", "--version", "--json"):
            self.assertIn(flag, pages["sshx.1"])
        for operation in _OPERATIONS:
            with self.subTest(operation):
                page = pages[f"sshx-{operation.split('.')[0]}.1"]
                help_text = self.sshx.ok(*operation.split("."), "--help").text
                for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text)) - {"--help"}:
                    self.assertIn(flag, page)

    def test_pages_have_the_usual_sections(self):
        for path in glob.glob(generated("man", "*.1")):
            with self.subTest(path):
                text = self.text(path)
                for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES",
                                "SEE ALSO"):  # fmt: skip
                    self.assertRegex(text, rf"(?m)^{section}$")

    def test_pages_are_clean(self):
        for path in glob.glob(generated("man", "*.1")):
            argv = ["mandoc", "-T", "lint", "-W", "warning", path]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class CompletionTest(LabCase):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = """
            source /usr/share/bash-completion/bash_completion
            source "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
            specification=$(complete -p sshx)
            function=${specification#*-F }; function=${function%% *}
            "$function" sshx "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        done = subprocess.run(
            ["bash", "-c", script, "-", generated("completions", "sshx.bash"), *words],
            capture_output=True, text=True, check=False,
            env={**self.sshx.environment, "PATH": f"{os.path.dirname(binary_path())}:/usr/bin:/bin"},
        )  # fmt: skip
        self.assertEqual(done.stderr, "")
        return {word.strip() for word in done.stdout.split("\n") if word.strip()}

    def test_operations(self):
        self.assertLessEqual({"run", "host", "audit", "schema"}, self.complete("sshx", ""))
        self.assertEqual(self.complete("sshx", "ru"), {"run"})
        self.assertLessEqual({"add", "update", "remove", "show", "list", "trust", "test"}, self.complete("sshx", "host", ""))

    def test_options(self):
        offered = self.complete("sshx", "run", "--")
        self.assertLessEqual({"--target", "--timeout", "--json", "--dry-run"}, {word.rstrip("=") for word in offered})

    def test_choices(self):
        self.assertEqual(self.complete("sshx", "run", "--audit", ""), {"best-effort", "required", "off"})
        self.assertEqual(self.complete("sshx", "run", "--intent", "r"), {"read"})

    def test_host_names(self):
        self.sshx.ok("host", "add", "web-1", "--address", "host-a")
        self.sshx.ok("host", "add", "db-1", "--address", "host-b")
        self.assertEqual(self.complete("sshx", "run", "--target", ""), {"web-1", "db-1"})
        self.assertEqual(self.complete("sshx", "host", "show", "w"), {"web-1"})


def _shell_blocks(path):
    """(first line number, text) of each ```sh block that is to run.

    A block is left out by a line `<!-- not run: REASON -->` before it.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    at = 0
    while at < len(lines):
        if lines[at].strip() == "```sh":
            end = lines.index("```", at + 1)
            before = next((line for line in reversed(lines[:at]) if line.strip()), "")
            if not re.fullmatch(r"<!-- not run: .+ -->", before.strip()):
                yield at + 2, "\n".join(lines[at + 1 : end])
            at = end
        at += 1


class DocumentedCommandTest(TargetCase):
    """The inventory that documents assume: web-1, reachable and trusted."""

    def setUp(self):
        super().setUp()
        self.sshx.add_host("web-1", self.server, "--group", "web", "--tag", "env=prod", identity=self.lab.key())

    def shell(self, script):
        return subprocess.run(
            ["/bin/sh", "-eu", "-c", script],
            capture_output=True, text=True, check=False, cwd=self.sshx.directory, stdin=subprocess.DEVNULL, timeout=120,
            env={**self.sshx.environment, "PATH": f"{os.path.dirname(binary_path())}:/usr/bin:/bin"},
        )  # fmt: skip

    def test_every_sh_block_of_the_documentation_runs(self):
        count = 0
        for path in [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]:
            for line, script in _shell_blocks(path):
                count += 1
                with self.subTest(f"{os.path.relpath(path, ROOT)}:{line}"):
                    done = self.shell(script)
                    self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}\n{done.stderr}")
        self.assertGreater(count, 0, "the documentation shows no command that runs")

    def test_every_example_of_a_descriptor_is_good_usage(self):
        for path in sorted(glob.glob(os.path.join(ROOT, "schemas", "operations", "[a-z]*.json"))):
            with open(path, encoding="utf-8") as file:
                descriptor = json.load(file)
            words = descriptor["operation"].split(".")
            spelled = words[:1] if descriptor.get("group_default") else words
            for example in descriptor["examples"]:
                with self.subTest(example["command"]):
                    words_of = shlex.split(example["command"].replace("$FINGERPRINT", "SHA256:" + "A" * 43))
                    arguments = list(itertools.takewhile(lambda word: word not in ("<", ">"), words_of))
                    self.assertEqual(arguments[: len(spelled) + 1], ["sshx", *spelled])
                    self._is_good_usage(descriptor, arguments[1:])

    def _is_good_usage(self, descriptor, arguments):
        if "json" not in descriptor["presentation"]:
            done = self.sshx.run(*arguments, environment={"DBUS_SESSION_BUS_ADDRESS": None, "XDG_RUNTIME_DIR": None})
            # What asks a keyring gets as far as finding none.
            self.assertTrue(done.code == 0 or b"to reach a secret service by" in done.err, done)
            return
        # Good usage shows offline too; an example's address is nobody's to call.
        preview = ["--dry-run"] if descriptor["operation"] == "run" else []
        form = [] if {"--json", "--jsonl"} & set(arguments) else ["--json"]
        done = self.sshx.run(*with_option(arguments, *form, *preview))
        error = parse(done.out).get("error")
        self.assertNotIn(error and error["code"], _USAGE_CODES)


if __name__ == "__main__":
    unittest.main()
