"""The judge of recorded MCP frames: it takes a good session of either era, and names each fault."""

import json
import os
import tempfile
import unittest

from tests.lab.mcp_clients import judge

_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
_SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
_TOOL = {"name": "t", "inputSchema": {"type": "object"}}
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
_WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
_CALL = {"name": "t", "arguments": {}, "_meta": {"progressToken": 0}}
_TEXT = {"content": [{"type": "text", "text": "x"}]}
_LISTED = {"tools": [_TOOL], "ttlMs": 0, "cacheScope": "private", "resultType": "complete", "_meta": _SERVER}


def frame(sender, **message):
    return (sender, json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def request(number, method, params):
    return frame("client", id=number, method=method, params=params)


def result(number, value):
    return frame("server", id=number, result=value)


def progress(value):
    return frame("server", method="notifications/progress", params={"progressToken": 0, "progress": value})


def cancelled(number):
    return frame("client", method="notifications/cancelled", params={"requestId": number})


LEGACY = [request(0, "initialize", _HELLO), result(0, _WELCOME), frame("client", method="notifications/initialized")]
CALLED = [*LEGACY, request(1, "tools/call", _CALL)]
MODERN = [request("a", "tools/list", {"_meta": _META})]


class FrameJudgeTest(unittest.TestCase):
    def problems(self, frames, is_utf8=True):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "1.jsonl")
            with open(path, "w", encoding="ascii") as file:
                for sender, text in frames:
                    file.write(json.dumps({"from": sender, "text": text, "is_utf8": is_utf8}) + "\n")
            verdict = judge(path)
        self.assertEqual(verdict["frames"], len(frames))
        return [problem["what"] for problem in verdict["problems"]]

    def test_good_sessions_pass(self):
        error = frame("server", id="b", error={"code": -32602, "message": "no"})
        for frames in (
            [*CALLED, progress(1), progress(2), result(1, _TEXT)],
            [*CALLED, cancelled(1)],
            [*MODERN, result("a", _LISTED)],
            [*MODERN, request("b", "tools/call", {**_CALL, "_meta": _META}), error, result("a", _LISTED)],
        ):
            with self.subTest(frames[-1]):
                self.assertEqual(self.problems(frames), [])

    def test_lines_that_are_no_frames(self):
        for text, fault in (
            ("listening\n", "it is no JSON object"),
            ("\n", "it is no JSON object"),
            ("[]\n", "it is no JSON object"),
            ("null\n", "it is no JSON object"),
            (result(0, _WELCOME)[1].replace("\n", "\r\n"), "it does not end with a line feed alone"),
            (result(0, _WELCOME)[1].rstrip("\n"), "it does not end with a line feed alone"),
        ):
            with self.subTest(text[:20]):
                self.assertIn(fault, self.problems([LEGACY[0], ("server", text)]))
        self.assertIn("it is not UTF-8", self.problems(LEGACY[:1], is_utf8=False))

    def test_faults_of_either_era(self):
        def without(value, key):
            return {name: item for name, item in value.items() if name != key}

        modern_call = request("b", "tools/call", {"name": "t", "_meta": _META})
        done = {"resultType": "complete", "_meta": _SERVER}
        for frames, fault in (
            ([*CALLED, result(1, {"structuredContent": {}})], "it is not a result of tools/call: content"),
            ([*CALLED, result(1, {"content": [{"type": "text"}]})], "it is not a result of tools/call: content.0"),
            ([*LEGACY, request(1, "tools/list", {}), result(1, {"tools": [{"name": "t"}]})], "tools.0.inputSchema"),
            ([*LEGACY, request(1, "tools/list", {}), result(1, {"tools": [], "nextCursor": None})], "nextCursor"),
            ([LEGACY[0], result(0, without(_WELCOME, "serverInfo"))], "serverInfo"),
            ([*LEGACY, request(1, "ping", {}), result(1, {"x": 1})], "it is not a result of ping"),
            ([*LEGACY, request(1, "tools/lits", {})], "takes a request tools/lits"),
            ([*LEGACY, frame("server", method="notifications/moon")], "takes a server's notifications/moon"),
            ([*LEGACY, frame("server", method="notifications/initialized")], "takes a server's notifications/initialized"),
            ([*LEGACY, frame("server", id=9, method="sampling/createMessage", params={})], "asks nothing of its client"),
            ([*LEGACY, result(7, {})], "it answers no request"),
            ([*LEGACY, result("0", _WELCOME)], "it answers no request"),
            ([*LEGACY, result(0, _WELCOME)], "its request was answered already"),
            ([*CALLED, cancelled(1), result(1, _TEXT)], "its request was cancelled already"),
            ([*CALLED, cancelled(1), progress(1)], "progress of a request that is over"),
            ([*CALLED, progress(1), progress(1)], "progress that does not increase"),
            ([*LEGACY, request(1, "tools/call", {"name": "t"}), progress(1)], "nobody asked for this progress"),
            ([*LEGACY, request(1, "tools/list", {}), frame("server", id=1, error={"code": "x"})], "it is not an error"),
            ([*LEGACY, request(1, "tools/list", {}), frame("server", id=1, result={"tools": []}, extra=1)], "extra"),
            ([*MODERN, result("a", without(_LISTED, "ttlMs"))], "ttlMs"),
            ([*MODERN, result("a", without(_LISTED, "cacheScope"))], "cacheScope"),
            ([*MODERN, result("a", without(_LISTED, "resultType"))], "resultType"),
            ([*MODERN, result("a", without(_LISTED, "_meta"))], "_meta"),
            ([modern_call, result("b", done)], "it is not a result of tools/call: content"),
            ([request("a", "ping", {"_meta": _META})], "takes a request ping"),
        ):
            with self.subTest(fault):
                found = self.problems(frames)
                self.assertEqual(len([problem for problem in found if fault in problem]), 1, found)


if __name__ == "__main__":
    unittest.main()
