"""A client of `sshx mcp` that speaks raw lines, so that a test sees every byte of the server."""

import json

from tests.lab.documents import parse
from tests.lab.processes import eventually

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "lab", "version": "1"},
}
# What the official clients pass to a server that they start, besides the locale-free rest.
_BARE = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


def bare_environment(sshx):
    """Changes to `sshx`'s environment that leave what clients pass, and what its isolation and sanitizers need."""
    kept = (*_BARE, "SSHX_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
    return {name: None for name in sshx.environment if name not in kept}


class McpClient:
    """One session. `revision`: a handshake's, which is carried out at once, or the stateless one."""

    def __init__(self, sshx, *options, revision="2025-11-25", **start):
        self.sshx = sshx
        self.revision = revision
        self.running = sshx.start("mcp", *options, stdin="pipe", **start)
        self._next = 0
        if revision != STATELESS_REVISION:
            self._shake_hands()

    def _shake_hands(self):
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "lab", "version": "1"}}
        agreed = self.ask("initialize", params)["result"]["protocolVersion"]
        assert agreed == self.revision, agreed
        self.notify("notifications/initialized")

    def write(self, content):
        """Sends bytes as they stand."""
        self.running.write(content)

    def _send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        self._send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def request(self, method, params=None, token=None):
        """Sends a request and returns its id."""
        self._next += 1
        params = dict(params or {})
        meta = dict(_META) if self.revision == STATELESS_REVISION else {}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def call(self, tool, token=None, **arguments):
        """Sends a tool call and returns its id."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, token)

    def messages(self):
        """All messages so far; AssertionError for a whole line that is not one JSON-RPC object."""
        *lines, _ = self.running.so_far().split(b"\n")
        found = []
        for line in lines:
            message = parse(line.decode("utf-8"))
            assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", line
            found.append(message)
        return found

    def response(self, identity, timeout=60.0):
        """Waits for the response to a request; AssertionError with the server's last words when it ends before."""
        def look():
            # Looked at first, so that what it said before it ended was read.
            has_ended = self.running.has_ended()
            found = next((m for m in self.messages() if m.get("id") == identity and "method" not in m), None)
            assert found or not has_ended, f"the server ended: {self.running.so_far('err')}"
            return found

        return eventually(look, f"the response to {identity}", timeout)

    def ask(self, method, params=None):
        return self.response(self.request(method, params))

    def tool(self, tool, token=None, **arguments):
        """Calls a tool and returns (document, is_error); both forms of the document are the same, and validated."""
        return self.answer(self.call(tool, token, **arguments))

    def answer(self, identity):
        result = self.response(identity)["result"]
        (block,) = result["content"]
        document = parse(block["text"])
        if "structuredContent" in result:
            assert result["structuredContent"] == document
        self.sshx.documents.validate(document)
        return document, result["isError"]

    def notes(self, token):
        """The progress notes for a token."""
        return [m["params"] for m in self.messages()
                if m.get("method") == "notifications/progress" and m["params"]["progressToken"] == token]  # fmt: skip

    def cancel(self, identity, reason="not wanted"):
        self.notify("notifications/cancelled", {"requestId": identity, "reason": reason})

    def close(self, timeout=30.0):
        """Closes the stream and returns the finished server."""
        self.running.close_stdin()
        return self.running.wait(timeout)
