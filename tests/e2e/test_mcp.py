"""`sshx mcp` with a real sshd: tools give the command line's documents, whatever else happens to the server."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import unittest

from tests.lab import TargetCase, eventually, processes
from tests.lab.mcp import HANDSHAKE_REVISIONS, STATELESS_REVISION, McpClient, bare_environment

TOOLS = ["sshx_audit_query", "sshx_host_list", "sshx_run"]


class McpCase(TargetCase):
    def client(self, *options, **keywords):
        client = McpClient(self.sshx, *options, **keywords)
        self.addCleanup(processes.stop, client.running.process)
        return client

    def gate(self):
        """(command, path): the command writes its process id to path.pid and then waits for the file at path."""
        path = os.path.join(self.lab.new_directory("g"), "gate")
        return f"echo $$ > {path}.pid; while [ ! -e {path} ]; do sleep 0.05; done; echo opened", path

    def begun(self, path):
        """Waits until the gate's command runs; its process id."""
        eventually(lambda: os.path.exists(f"{path}.pid") and os.path.getsize(f"{path}.pid"), "the command runs")
        with open(f"{path}.pid", encoding="ascii") as file:
            return int(file.read())

    def open(self, path):
        with open(path, "w", encoding="ascii"):
            pass

    def gone(self, *pids):
        for pid in pids:
            eventually(lambda pid=pid: not processes.is_running(pid), f"process {pid} is gone")


class ToolTest(McpCase):
    def test_every_revision_runs_a_command_and_gives_its_document(self):
        for revision in (*HANDSHAKE_REVISIONS, STATELESS_REVISION):
            with self.subTest(revision):
                client = self.client(revision=revision)
                names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
                self.assertEqual(names, TOOLS)
                document, is_error = client.tool("sshx_run", targets=["target"], command="echo out; echo err >&2")
                self.assertFalse(is_error)
                self.assert_fields(document, schema_version="sshx.result.v1", stdout="out\n", stderr="err\n", success=True)
                self.assertEqual(client.close().code, 0)

    def test_hosts_are_listed_previewed_run_and_found_in_the_evidence(self):
        client = self.client()
        hosts, _ = client.tool("sshx_host_list")
        self.assertEqual([host["name"] for host in hosts["hosts"]], ["target"])
        marker = os.path.join(self.lab.new_directory("m"), "marker")
        request = {"targets": ["target"], "command": f"touch {marker}", "request_id": "seen-1"}
        preview, is_error = client.tool("sshx_run", dry_run=True, **request)
        self.assertFalse(is_error)
        self.assert_fields(preview, schema_version="sshx.request.v1", valid=True)
        self.assertFalse(os.path.exists(marker))
        result, _ = client.tool("sshx_run", **request)
        self.assertTrue(os.path.exists(marker))
        self.assertEqual(result["plan_hash"], preview["plan"]["plan_hash"])
        evidence, _ = client.tool("sshx_audit_query", request_id="seen-1")
        (event,) = evidence["events"]
        self.assert_fields(event, execution_id=result["execution_id"], entry="mcp", outcome="succeeded")

    def test_a_failed_command_is_an_error_with_its_whole_document(self):
        document, is_error = self.client().tool("sshx_run", targets=["target"], command="echo why; exit 3")
        self.assertTrue(is_error)
        self.assert_fields(document, exit_code=3, stdout="why\n", error_kind="remote_exit", executed=True)

    # B114, B151: no target, an unknown one, and one that looks like an option.
    def test_a_request_that_is_refused_says_what_to_do(self):
        client = self.client()
        for arguments, code in (
            ({"command": "true"}, "no_target"),
            ({"targets": ["nowhere"], "command": "true"}, "unknown_target"),
            ({"targets": ["-oProxyCommand=touch /tmp/p"], "command": "true"}, "unknown_target"),
            ({"address": "-oProxyCommand=x", "command": "true"}, "address"),
            ({"targets": ["target"], "command": "true", "insecure_hostkey": True}, "unknown_property"),
            ({"targets": ["target"], "command": "true", "--force": True}, "unknown_property"),
            ({"targets": ["target"], "command": "true", "timeout_seconds": 1e9}, "range"),
        ):  # fmt: skip
            with self.subTest(code=code, arguments=arguments):
                document, is_error = client.tool("sshx_run", **arguments)
                self.assertTrue(is_error)
                self.assert_fields(document, error_kind="config", error__code=code)
                self.assertTrue(document["error"]["message"])

    # B024, B144: within a client's own limit unless more is asked for.
    def test_the_default_timeout_is_one_that_clients_wait_for(self):
        document, _ = self.client().tool("sshx_run", targets=["target"], command="true", dry_run=True)
        limits = document["plan"]["limits"]
        self.assertEqual((limits["timeout_ms"], limits["max_output_bytes"]), (45_000, 24_576))

    # B142: a flood comes back within what a model can take, its head and tail kept.
    def test_a_flood_of_output_stays_within_a_small_message(self):
        client = self.client()
        identity = client.call("sshx_run", targets=["target"], command="yes 0123456789abcde | head -c 10485760")
        document, _ = client.answer(identity)
        self.assert_fields(document, stdout_bytes=10_485_760, stdout_truncated=True, success=True)
        frame = next(line for line in client.running.so_far().split(b"\n") if f'"id":{identity},'.encode() in line)
        self.assertLess(len(frame), 100 * 1024)

    # B040: a child that read the server's stdin would take these messages.
    def test_a_hundred_calls_at_once_are_each_answered(self):
        client = self.client()
        ids = {client.call("sshx_host_list", token=f"t{number}"): number for number in range(100)}
        for identity in ids:
            document, is_error = client.answer(identity)
            self.assertFalse(is_error)
            self.assertEqual(document["count"], 1)
        self.assertEqual(client.close().code, 0)

    def test_a_fast_call_overtakes_a_slow_one(self):
        command, gate = self.gate()
        client = self.client()
        slow = client.call("sshx_run", targets=["target"], command=command)
        self.begun(gate)
        document, _ = client.tool("sshx_run", targets=["target"], command="echo fast")
        self.assertEqual(document["stdout"], "fast\n")
        self.assertEqual(client.ask("ping")["result"], {})
        self.open(gate)
        self.assertEqual(client.answer(slow)[0]["stdout"], "opened\n")

    # B160: stdin is for secrets; neither arguments, environment nor evidence ever hold it.
    def test_stdin_reaches_the_command_and_nothing_else(self):
        secret = "canary-7f3a91"
        command, gate = self.gate()
        client = self.client()
        call = client.call("sshx_run", targets=["target"], command=f"cat; {command}", stdin=f"{secret}\n")
        self.begun(gate)
        for pid in processes.descendants(client.running.pid):
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    self.assertNotIn(secret.encode(), file.read())
        self.open(gate)
        self.assertEqual(client.answer(call)[0]["stdout"], f"{secret}\nopened\n")
        for name in os.listdir(self.sshx.state):
            with open(os.path.join(self.sshx.state, name), "rb") as file:
                self.assertNotIn(secret.encode(), file.read(), name)


class CancelTest(McpCase):
    def test_a_cancelled_call_is_gone_on_the_host_and_not_answered(self):
        command, gate = self.gate()
        client = self.client()
        call = client.call("sshx_run", targets=["target"], command=command, token="beat")
        remote = self.begun(gate)
        client.cancel(call)
        self.gone(remote)
        eventually(lambda: not processes.descendants(client.running.pid), "the child is gone")
        document, _ = client.tool("sshx_audit_query", error_kind="cancelled")
        self.assert_fields(document["events"][0], completion="partial", entry="mcp", executed=True)
        client.close()
        self.assertFalse([m for m in client.messages() if m.get("id") == call])

    # B029: whatever ends the client, nothing is left.
    def test_a_client_that_is_killed_leaves_nothing(self):
        self._client_dies(keeps_stream_open=False)

    def test_nor_does_one_whose_stream_another_process_still_holds(self):
        self._client_dies(keeps_stream_open=True)

    def _client_dies(self, keeps_stream_open):
        command, gate = self.gate()
        parent = textwrap.dedent("""
            import json, subprocess, sys
            binary, keep, command = sys.argv[1:]
            server = subprocess.Popen([binary, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            holder = subprocess.Popen(["sleep", "300"], pass_fds=[server.stdin.fileno()] if keep == "yes" else [])
            meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}
            params = {"name": "sshx_run", "arguments": {"targets": ["target"], "command": command}, "_meta": meta}
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}) + "\\n")
            server.stdin.flush()
            print(server.pid, holder.pid, flush=True)
            server.wait()
            """)
        client = processes.start(
            [sys.executable, "-c", parent, self.sshx.binary, "yes" if keeps_stream_open else "no", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.sshx.environment, cwd=self.sshx.directory,
        )  # fmt: skip
        self.addCleanup(processes.stop, client)
        self.addCleanup(client.stdout.close)
        server, holder = (int(word) for word in client.stdout.readline().split())
        self.addCleanup(processes.kill_all, [server, holder])
        remote = self.begun(gate)
        children = processes.descendants(server)
        self.assertTrue(children)
        os.kill(client.pid, signal.SIGKILL)
        client.wait()
        self.gone(server, remote, *children)

    def test_a_server_that_is_killed_takes_its_children_along(self):
        command, gate = self.gate()
        client = self.client()
        client.call("sshx_run", targets=["target"], command=command)
        remote = self.begun(gate)
        children = processes.descendants(client.running.pid)
        client.running.kill9()
        self.gone(remote, *children)

    def test_signals_end_it_in_order(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                command, gate = self.gate()
                client = self.client()
                call = client.call("sshx_run", targets=["target"], command=command)
                remote = self.begun(gate)
                client.running.signal(number)
                done = client.running.wait()
                self.gone(remote)
                self.assertEqual(done.code, 0)
                document, is_error = client.answer(call)
                self.assertTrue(is_error)
                self.assert_fields(document, error_kind="cancelled", remote_state="terminated")


class StreamTest(McpCase):
    def test_calls_on_a_pipe_that_ends_at_once_are_answered(self):
        lines = (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}\n'
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sshx_host_list"}}'
        )
        done = self.sshx.ok("mcp", stdin=lines)
        self.assertEqual(done.out.count(b"\n"), 2)
        self.assertIn(b'"target"', done.out)

    def test_a_regular_file_is_a_stream_too(self):
        path = os.path.join(self.sshx.directory, "messages")
        with open(path, "wb") as file:
            file.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        with open(path, "rb") as file:
            done = self.sshx.ok("mcp", stdin=file)
        self.assertEqual(done.out, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')

    def test_garbage_is_refused_and_the_session_goes_on(self):
        client = self.client()
        client.write(b"\x00\xff\xfe\n[1,2\n{}\n\n\r\n" + b"x" * 100_000 + b"\n")
        self.assertEqual(client.ask("ping")["result"], {})
        faults = [m["error"]["code"] for m in client.messages() if "error" in m]
        self.assertEqual(faults, [-32700, -32700, -32600, -32700])


class SettingsTest(McpCase):
    def test_what_cannot_be_served_is_refused_at_the_start(self):
        for options, code, words in (
            (("--local-root", "/nowhere"), "not_a_folder", ("/nowhere",)),
            (("--tools", "run,nope"), "range", ("nope", "sshx_run")),
        ):
            with self.subTest(code):
                done = self.sshx.expect(255, "mcp", *options)
                self.assertEqual(done.out, b"")
                self.assert_mentions(done.error_text, *words)

    def test_tools_are_offered_as_named(self):
        client = self.client("--tools", "run,sshx_host_list")
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        self.assertEqual(names, ["sshx_host_list", "sshx_run"])
        error = client.ask("tools/call", {"name": "sshx_audit_query"})["error"]
        self.assertEqual(error["code"], -32602)

    def test_a_read_only_server_previews_and_runs_nothing(self):
        client = self.client("--read-only")
        self.assertFalse(client.tool("sshx_run", targets=["target"], command="true", dry_run=True)[1])
        document, is_error = client.tool("sshx_run", targets=["target"], command="true")
        self.assertTrue(is_error)
        self.assert_fields(document, error_kind="blocked", error__code="read_only")

    def test_hosts_that_are_not_allowed_are_not_there(self):
        self.sshx.add_host("other", self.server, identity=self.lab.key())
        client = self.client("--allow-target", "tar*")
        hosts, _ = client.tool("sshx_host_list")
        self.assertEqual([host["name"] for host in hosts["hosts"]], ["target"])
        for arguments, code in (({"targets": ["other"]}, "target_not_allowed"), ({"address": "127.0.0.1"}, "address_not_allowed")):
            document, is_error = client.tool("sshx_run", command="true", **arguments)
            self.assertTrue(is_error)
            self.assert_fields(document, error_kind="blocked", error__code=code)

    def test_required_evidence_is_required_of_children(self):
        client = self.client("--audit", "required")
        os.chmod(self.sshx.state, 0o700)
        os.mkdir(self.sshx.audit_path)
        document, is_error = client.tool("sshx_run", targets=["target"], command="true")
        self.assertTrue(is_error)
        self.assert_fields(document, executed=False, error_kind="local_io", phase="admission")

    def test_scripts_come_from_the_local_root_alone(self):
        root = self.lab.new_directory("r")
        for folder, name in ((root, "in.sh"), (os.path.dirname(root), "out.sh")):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("echo script\n")
        client = self.client("--local-root", root)
        self.assertEqual(client.tool("sshx_run", targets=["target"], script_file="in.sh")[0]["stdout"], "script\n")
        document, is_error = client.tool("sshx_run", targets=["target"], script_file="../out.sh")
        self.assertTrue(is_error)
        self.assert_fields(document, error_kind="blocked", error__code="outside_local_root")

    def test_the_local_root_is_the_folder_of_the_start_unless_that_is_too_wide(self):
        project = os.path.join(self.sshx.home, "project")
        os.mkdir(project)
        link = os.path.join(self.sshx.directory, "link")
        os.symlink(self.sshx.home, link)
        for folder in (project, self.sshx.home, os.path.dirname(self.sshx.home), "/"):
            path = os.path.join(folder if folder != "/" else project, "s.sh")
            with open(path, "w", encoding="ascii") as file:
                file.write("echo script\n")
            # A home that is named by a link is the same home.
            for home in (self.sshx.home, link):
                with self.subTest(folder=folder, home=home):
                    client = self.client(cwd=folder, environment={"HOME": home})
                    document, is_error = client.tool("sshx_run", targets=["target"], script_file=path)
                    if folder == project:
                        self.assertEqual(document["stdout"], "script\n")
                    else:
                        self.assertTrue(is_error)
                        self.assert_fields(document, error_kind="blocked", error__code="no_local_root")
                    client.close()

    def test_entries_of_clients_start_this_binary(self):
        for client, key in (("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")):
            done = self.sshx.ok("mcp", "config", client, "--allow-target", "a,b", "--read-only", "--audit", "required")
            entry = json.loads(done.out)[key]["sshx"]
            self.assertEqual(os.path.realpath(entry["command"]), os.path.realpath(self.sshx.binary))
            self.assertEqual(
                entry["args"], ["mcp", "--audit=required", "--allow-target=a", "--allow-target=b", "--read-only"]
            )
            self.assertEqual(entry["env"]["SSHX_HOME"], self.sshx.state)
        done = self.sshx.ok("mcp", "config", "codex", environment={"SSH_AUTH_SOCK": "/run/agent"})
        self.assertIn("[mcp_servers.sshx]\n", done.text)
        self.assertIn('SSH_AUTH_SOCK = "/run/agent"\n', done.text)


class BinaryTest(McpCase):
    def test_a_binary_that_was_deleted_or_replaced_goes_on_serving(self):
        original = self.sshx.binary
        for change in ("deleted", "replaced"):
            with self.subTest(change):
                binary = self.sshx.binary = shutil.copy(original, os.path.join(self.lab.new_directory("b"), "sshx"))
                client = self.client()
                os.unlink(binary)
                if change == "replaced":
                    with open(binary, "w", encoding="ascii") as file:
                        file.write("#!/bin/sh\necho somebody else\n")
                    os.chmod(binary, 0o755)
                document, is_error = client.tool("sshx_run", targets=["target"], command="echo still here")
                self.assertFalse(is_error)
                self.assertEqual(document["stdout"], "still here\n")
                client.close()


class BareEnvironmentTest(McpCase):
    has_identity = False

    def test_a_missing_agent_is_explained(self):
        client = self.client(environment=bare_environment(self.sshx))
        document, is_error = client.tool("sshx_run", targets=["target"], command="true")
        self.assertTrue(is_error)
        self.assert_fields(document, error_kind="auth", error__code="no_identity", executed=False)
        self.assert_mentions(document["error"]["hint"], "SSH_AUTH_SOCK", "env")


if __name__ == "__main__":
    unittest.main()
