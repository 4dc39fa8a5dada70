"""`sshx mcp` as the official clients see it: both generations, in their four ways to agree on a revision.

An agent with such a client can list hosts, preview, run, see a failure explained, cancel (and the remote process is
gone), and read the evidence. Each session is held to the whole contract of its revision, frame by frame.
"""

import json
import os
import signal
import unittest

import jsonschema

from tests.lab import TargetCase, eventually
from tests.lab.documents import parse
from tests.lab.mcp_clients import Session

_LEGACY, _MODERN = "2025-11-25", "2026-07-28"
_INVALID_PARAMS = -32602
# The client gives up after this many milliseconds without a sign of life; a server gives one every few seconds.
_SILENCE_MS = 9000


def call(tool, **arguments):
    return {"op": "call", "tool": tool, "arguments": arguments}


def run(command, **arguments):
    return call("sshx_run", targets=["target"], command=command, **arguments)


class ClientTests:
    """What each client must be able to do. `mode` and `revision` are the subclass's."""

    mode = None
    revision = None
    probes = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sshx = cls.lab.sshx()
        listed = sshx.json("schema", "list", code=0)["schemas"]
        names = [schema["name"] for schema in listed if schema["kind"] == "tool"]
        cls.tools = {name: parse(sshx.ok("schema", "show", name).out) for name in names}

    def session(self, *steps, **options):
        """The outcomes of these steps, in a session that first lists the tools and is found without fault."""
        session = Session(self.sshx, self.lab.new_directory("f"), self.mode, [{"op": "list"}, *steps], **options)
        self.assertEqual(session.verdict["problems"], [])
        self.assertEqual(session.errors, [])
        self.assertEqual(session.left, [])
        # A client that waited two seconds for the end of a server sends SIGTERM, and a busy machine may take as long; that
        # the end of the stream is enough is what test_mcp.py shows.
        patience = (0, -signal.SIGTERM) if session.end["is_terminated"] else (0,)
        self.assertIn(session.end["status"], patience)
        self.assertEqual(session.probes, self.probes)
        self.assertEqual(self.spoken(session), self.revision)
        self.assertIn(session.negotiated, (None, self.revision))
        for step, outcome in zip([{"op": "list"}, *steps], session.steps, strict=True):
            if step["op"] != "abort" and step.get("tool", "") in ("", *self.tools):
                self.assertNotIn("thrown", outcome, outcome.get("thrown"))
        return session.steps[1:]

    def spoken(self, session):
        """The revision that the frames show."""
        by_id = {}
        for sender, message in session.frames:
            if sender == "client" and "method" in message and "id" in message:
                by_id[message["id"]] = message["method"]
                meta = message.get("params", {}).get("_meta", {})
                if "io.modelcontextprotocol/protocolVersion" in meta:
                    return meta["io.modelcontextprotocol/protocolVersion"]
            if sender == "server" and by_id.get(message.get("id")) == "initialize":
                return message["result"]["protocolVersion"]
        return None

    def document(self, result, tool="sshx_run", is_error=False):
        """The document of a result: whole on both channels, and one that its own schema and the tool's take."""
        document = result["structuredContent"]
        self.assertEqual([block["type"] for block in result["content"]], ["text"])
        self.assertEqual(parse(result["content"][0]["text"].encode("utf-8")), document)
        self.assertIs(result.get("isError", False), is_error, document)
        self.lab.documents.validate(document)
        jsonschema.Draft202012Validator(self.tools[tool]["outputSchema"]).validate(document)
        return document

    def test_tools_are_the_published_ones_each_time(self):
        first = Session(self.sshx, self.lab.new_directory("f"), self.mode, [{"op": "list"}, {"op": "list"}])
        self.assertEqual(first.verdict["problems"], [])
        listed = [{tool["name"]: tool for tool in step["tools"]} for step in first.steps]
        self.assertEqual(listed, [self.tools, self.tools])
        names = [[tool["name"] for tool in step["tools"]] for step in first.steps]
        self.assertEqual(names, [sorted(self.tools)] * 2)

    def test_list_preview_run_and_read_the_evidence(self):
        self.sshx.ok("host", "update", "target", "--group", "web", "--tag", "env=prod")
        hosts, preview = self.session(
            call("sshx_host_list", groups=["web"]), run("echo hello", dry_run=True, request_id="ticket-1")
        )
        (host,) = self.document(hosts["result"], "sshx_host_list")["hosts"]
        self.assert_fields(host, name="target", groups=["web"], tags={"env": "prod"})
        previewed = self.document(preview["result"])
        self.assert_fields(previewed, schema_version="sshx.request.v1", valid=True)
        self.assertEqual((self.server.remote_pids(), os.path.exists(self.sshx.audit_path)), ([], False))

        ran, evidence = self.session(
            run("echo hello", request_id="ticket-1"), call("sshx_audit_query", request_id="ticket-1")
        )
        result = self.document(ran["result"])
        self.assert_fields(result, schema_version="sshx.result.v1", success=True, stdout="hello\n", exit_code=0)
        self.assertEqual(result["plan_hash"], previewed["plan"]["plan_hash"])
        (event,) = self.document(evidence["result"], "sshx_audit_query")["events"]
        self.assert_fields(
            event, entry="mcp", outcome="succeeded", command="echo hello", execution_id=result["execution_id"]
        )

    def test_a_failure_is_the_same_document_marked_as_one(self):
        failed, unknown = self.session(
            run("echo out; echo err >&2; exit 3"), call("sshx_run", targets=["tarte"], command="true")
        )
        result = self.document(failed["result"], is_error=True)
        self.assert_fields(result, exit_code=3, error_kind="remote_exit", executed=True, stdout="out\n", stderr="err\n")
        refused = self.document(unknown["result"], is_error=True)
        self.assert_fields(refused, error_kind="config", error__code="unknown_target")
        self.assert_mentions(json.dumps(refused["error"]), "tarte", "target")

    def test_bad_arguments_are_explained(self):
        cases = (
            ({"timeout_seconds": "soon"}, "type"),
            ({"timeout_seconds": -1}, "range"),
            ({"colour": 1}, "unknown_property"),
            ({"pty": True}, "unknown_property"),
            ({"insecure_hostkey": True}, "unknown_property"),
        )
        outcomes = self.session(*(run("true", **arguments) for arguments, _ in cases))
        for (arguments, code), outcome in zip(cases, outcomes, strict=True):
            with self.subTest(arguments):
                document = self.document(outcome["result"], is_error=True)
                self.assert_fields(document, error_kind="config", error__code=code)
                self.assert_mentions(document["error"]["message"], *arguments)
        self.assertEqual(self.server.remote_pids(), [])

    def test_an_unknown_tool_is_an_error_of_the_protocol(self):
        unknown, after = self.session(call("sshx_rnu", command="true"), run("echo on"))
        self.assertEqual(unknown["thrown"]["code"], _INVALID_PARAMS)
        self.assert_mentions(unknown["thrown"]["message"], "sshx_rnu")
        self.assertEqual(self.document(after["result"])["stdout"], "on\n")

    # B144
    def test_progress_keeps_a_slow_call_alive(self):
        gate = os.path.join(self.lab.new_directory("g"), "gate")
        step = {"op": "outlive", "tool": "sshx_run", "timeout": _SILENCE_MS, "gate": gate}
        command = f"while [ ! -e {gate} ]; do sleep 0.05; done; echo done"
        step["arguments"] = {"targets": ["target"], "command": command, "timeout_seconds": 300}
        (slow,) = self.session(step)
        self.assertTrue(slow["outlived"])
        self.assertEqual(self.document(slow["result"])["stdout"], "done\n")
        self.assertGreater(len(slow["progress"]), 0)

    def test_what_is_aborted_is_gone_and_the_session_goes_on(self):
        pid_file = os.path.join(self.lab.new_directory("g"), "pid")
        command = f"echo $$ >{pid_file}; exec sleep 1000"
        step = {"op": "abort", "tool": "sshx_run", "pid_file": pid_file}
        step["arguments"] = {"targets": ["target"], "command": command, "timeout_seconds": 300, "request_id": "aborted"}
        aborted, after, evidence = self.session(step, run("echo on"), call("sshx_audit_query", request_id="aborted"))
        self.assertIn("thrown", aborted)
        self.assertNotIn("result", aborted)
        self.assertTrue(aborted["gone"])
        self.assertEqual(self.document(after["result"])["stdout"], "on\n")
        (event,) = self.document(evidence["result"], "sshx_audit_query")["events"]
        self.assertEqual(event["entry"], "mcp")
        # The process is gone before the end of it is in the evidence.
        event = eventually(lambda: self.finished("aborted"), "the evidence of the end")
        self.assert_fields(event, outcome="failed", error_kind="cancelled", executed=True, completion="partial")
        # The test saw that it is gone; sshx may not have had the time to, on a busy machine.
        self.assertIn(event["remote_state"], ("terminated", "unknown"))

    def finished(self, request_id):
        """The one execution of that request, once it has a finished record."""
        (event,) = self.sshx.json("audit", "query", "--request-id", request_id, code=0)["events"]
        return event if event["outcome"] != "unknown" else None

    def test_many_calls_at_once(self):
        requests = [{"targets": ["target"], "command": f"echo {number}"} for number in range(20)]
        together, listed = self.session({"op": "together", "tool": "sshx_run", "arguments": requests}, {"op": "list"})
        stdout = [self.document(result)["stdout"] for result in together["results"]]
        self.assertEqual(stdout, [f"{number}\n" for number in range(20)])
        self.assertEqual([tool["name"] for tool in listed["tools"]], sorted(self.tools))


    # The clients give a server HOME, PATH and four more of their own variables.
    def test_a_bare_environment_is_enough(self):
        isolation = ("SSHX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
        self.sshx.environment = {
            name: value for name, value in self.sshx.environment.items() if name not in (*isolation, "LANG")
        }
        self.sshx.add_host("bare", self.server, identity=self.lab.key())
        (ran,) = self.session(call("sshx_run", targets=["bare"], command="echo on"))
        self.assertEqual(self.document(ran["result"])["stdout"], "on\n")

    def test_documents_are_described_by_resources(self):
        uri = "sshx://schema/sshx.result.v1"
        (described,) = self.session({"op": "resources", "read": uri})
        self.assertIn(uri, [resource["uri"] for resource in described["resources"]])
        (content,) = described["contents"]
        self.assertEqual(content["uri"], uri)
        self.assertEqual(parse(content["text"].encode("utf-8")), self.lab.documents.schema("sshx.result.v1"))


class V1Test(ClientTests, TargetCase):
    mode = "v1"
    revision = _LEGACY


class V2Test(ClientTests, TargetCase):
    mode = "v2"
    revision = _LEGACY


class V2AutoTest(ClientTests, TargetCase):
    """Asks a server of its own what it is, ends it, and starts the one of the session."""

    mode = "v2-auto"
    revision = _MODERN
    probes = 1


class V2PinnedTest(ClientTests, TargetCase):
    mode = "v2-pin"
    revision = _MODERN
    probes = 1


if __name__ == "__main__":
    unittest.main()
