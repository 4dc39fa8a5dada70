"""`--request`: one request, two spellings; and errors that name the property and the flag."""

import json
import os
import unittest

from tests.lab import TargetCase


class RequestCase(TargetCase):
    def by_request(self, request, *words, code=0, **keywords):
        return self.sshx.json(
            *(words or ("run",)), "--request", "-", stdin=json.dumps(request).encode("utf-8"), code=code, **keywords
        )


class EquivalenceTest(RequestCase):
    def test_flags_and_request_are_one_request(self):
        key = self.lab.key("rsa").path
        for flags, properties in (
            ((), {}),
            (("--timeout", "30s"), {"timeout_seconds": 30}),
            (("--timeout", "500ms"), {"timeout_seconds": 0.5}),
            (("--connect-timeout", "1m"), {"connect_timeout_seconds": 60}),
            (("--max-output-bytes", "1MiB"), {"max_output_bytes": 1048576}),
            (("--max-output-bytes", "64K"), {"max_output_bytes": 65536}),
            (("--user", "alice"), {"user": "alice"}),
            (("-l", "alice"), {"user": "alice"}),
            (("--port", "2222"), {"port": 2222}),
            (("-p", "2222"), {"port": 2222}),
            (("--identity", key), {"identity": key}),
            (("-i", key), {"identity": key}),
            (("--identities-only",), {"identities_only": True}),
            (("--intent", "read"), {"intent": "read"}),
            (("--accept-unknown-host",), {"accept_unknown_host": True}),
            (("--insecure-hostkey",), {"insecure_hostkey": True}),
            (("--known-hosts", self.sshx.known_hosts_path), {"known_hosts": self.sshx.known_hosts_path}),
            (("--stdin",), {"stdin_inherit": True}),
            (("--request-id", "a.b:c"), {"request_id": "a.b:c"}),
            (("--cwd", "/srv/my app"), {"cwd": "/srv/my app"}),
            (("--env", "A=1,2", "--env", "B="), {"env": ["A=1,2", "B="]}),
            (("--pty",), {"pty": True}),
            (("--stdin-hold",), {"stdin_hold": True}),
            (("--server-alive-interval", "1m"), {"server_alive_interval_seconds": 60}),
            (("--server-alive-count-max", "5"), {"server_alive_count_max": 5}),
            (("--second-channel", "never"), {"second_channel": "never"}),
        ):
            with self.subTest(flags):
                by_flags = self.sshx.json("run", "--target", "target", "--dry-run", *flags, "--", "uptime", code=0)
                # From a file, because stdin that gave the request could not be the command's too.
                path = os.path.join(self.sshx.directory, "request.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"targets": ["target"], "command": "uptime", "dry_run": True, **properties}, file)
                by_request = self.sshx.json("run", "--request", path, code=0)
                self.assertEqual(by_request["request"], by_flags["request"])
                self.assertEqual(by_request["plan"], by_flags["plan"])

    def test_the_order_of_properties_does_not_count(self):
        one = {"targets": ["target"], "command": "uptime", "dry_run": True, "timeout_seconds": 30}
        other = dict(reversed(one.items()))
        self.assertEqual(self.by_request(one)["plan"], self.by_request(other)["plan"])

    def test_spellings_of_an_option(self):
        base = self.sshx.json("run", "--target", "target", "--dry-run", "--", "uptime", code=0)["plan"]["plan_hash"]
        for words in (("--target=target",), ("-t", "target"), ("-ttarget",)):
            with self.subTest(words):
                document = self.sshx.json("run", *words, "--dry-run", "--", "uptime", code=0)
                self.assertEqual(document["plan"]["plan_hash"], base)

    def test_from_a_file(self):
        path = os.path.join(self.sshx.directory, "request.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"targets": ["target"], "command": "echo from file"}, file)
        self.assert_fields(self.sshx.json("run", "--request", path, code=0), stdout="from file\n")

    def test_text_mode_with_a_request(self):
        body = b'{"targets":["target"],"command":"echo out"}'
        self.assertEqual(self.sshx.ok("run", "--request", "-", stdin=body).out, b"out\n")

    def test_a_request_from_stdin_leaves_no_stdin_for_the_command(self):
        self.assert_fields(self.by_request({"targets": ["target"], "command": "cat"}), stdout="")


class RefusalTest(RequestCase):
    def assert_config(self, document, *words, codes=None):
        self.assert_fields(document, schema_version="sshx.error.v1", error_kind="config", success=False, exit_code=-1)
        if codes:
            self.assertIn(document["error"]["code"], codes)
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", *words)

    def test_beside_a_request_option(self):
        body = b'{"targets":["target"],"command":"true"}'
        for words in (("--timeout", "3s"), ("--target", "target"), ("--dry-run",), ("--", "true")):
            with self.subTest(words):
                document = self.sshx.json("run", "--request", "-", *words, stdin=body, code=255)
                self.assert_config(document, "--request", codes=("request_conflict",))

    def test_presentation_options_may_stand_beside_it(self):
        body = b'{"targets":["target"],"command":"true"}'
        document = self.sshx.json("run", "--request", "-", "--quiet", "--audit", "off", stdin=body, code=0)
        self.assert_fields(document, audit_status="disabled")

    def test_presentation_is_no_property(self):
        for name in ("json", "quiet", "audit", "audit_db", "request", "safe_output", "die_with_parent"):
            with self.subTest(name):
                document = self.by_request({"targets": ["target"], "command": "true", name: "x"}, code=255)
                self.assert_config(document, name, codes=("unknown_property",))

    def test_an_unknown_property_suggests_the_nearest(self):
        document = self.by_request({"targets": ["target"], "comand": "true"}, code=255)
        self.assert_config(document, "comand", "command", codes=("unknown_property",))
        document = self.by_request({"targets": ["target"], "command": "true", "timeout": 3}, code=255)
        self.assert_config(document, "timeout", "timeout_seconds", codes=("unknown_property",))

    def test_errors_name_the_property_and_the_flag(self):
        for properties, code, words in (
            ({"timeout_seconds": "30s"}, "type", ("timeout_seconds", "--timeout")),
            ({"timeout_seconds": None}, "type", ("timeout_seconds", "--timeout")),
            ({"timeout_seconds": 0}, "range", ("timeout_seconds", "--timeout", "0.1")),
            ({"timeout_seconds": 86401}, "range", ("timeout_seconds", "--timeout", "86400")),
            ({"port": 22.5}, "type", ("port", "--port")),
            ({"port": True}, "type", ("port", "--port")),
            ({"port": 65536}, "range", ("port", "--port", "65535")),
            ({"user": 5}, "type", ("user", "--user")),
            ({"user": ""}, "range", ("user", "--user")),
            ({"intent": "write"}, None, ("intent", "--intent", "change")),
            ({"identities_only": "yes"}, "type", ("identities_only", "--identities-only")),
            ({"request_id": "a b"}, "pattern", ("request_id", "--request-id")),
            ({"request_id": "x" * 129}, "range", ("request_id", "--request-id")),
            ({"targets": "target"}, "type", ("targets", "--target")),
            ({"targets": [5]}, "type", ("targets", "--target")),
            ({"targets": ["target"] * 10001}, "range", ("targets", "--target")),
            ({"command": ["true"]}, "type", ("command",)),
            ({"max_output_bytes": 1e9}, "range", ("max_output_bytes", "--max-output-bytes")),
            ({"stdin": 5}, "type", ("stdin",)),
            ({"cwd": ""}, "range", ("cwd", "--cwd")),
            ({"env": "A=1"}, "type", ("env", "--env")),
            ({"env": ["A"]}, "range", ("env", "--env")),
            ({"pty": "yes"}, "type", ("pty", "--pty")),
            ({"shell": "fish"}, None, ("shell", "--shell", "bash")),
            ({"server_alive_interval_seconds": 1}, "range", ("_interval_seconds", "--server-alive-interval")),
            ({"server_alive_count_max": 0}, "range", ("server_alive_count_max", "--server-alive-count-max")),
            ({"second_channel": "always"}, None, ("second_channel", "--second-channel", "never")),
        ):
            with self.subTest(properties):
                document = self.by_request({"targets": ["target"], "command": "true", **properties}, code=255)
                self.assert_config(document, *words, codes=(code,) if code else None)

    def test_flags_that_are_wrong_name_the_property_too(self):
        document = self.sshx.json("run", "--target", "target", "--timeout", "soon", "--", "true", code=255)
        self.assert_config(document, "--timeout", "soon")

    def test_a_command_is_required(self):
        self.assert_config(self.by_request({"targets": ["target"]}, code=255), "command", codes=("required",))
        document = self.sshx.json("run", "--target", "target", code=255)
        self.assert_config(document, "--", codes=("required", "usage"))
        self.assert_config(self.by_request({"targets": ["target"], "command": ""}, code=255), "command")

    def test_no_target_and_two_kinds_of_target(self):
        self.assert_config(self.by_request({"command": "true"}, code=255), "target", codes=("no_target",))
        self.assert_config(self.by_request({"command": "true", "targets": []}, code=255), "target")
        both = {"command": "true", "targets": ["target"], "address": "127.0.0.1"}
        self.assert_config(self.by_request(both, code=255), "address")

    def test_what_is_not_a_request(self):
        for body in (
            b"", b" ", b"{", b"[]", b'"x"', b"null", b"5", b"{} {}", b'{"command":"a","command":"b"}', b"{'a':1}",
            b'{"command":"\xff"}', b'{"command":"a",}', b"\xef\xbb\xbf{}", b'{"port":NaN}', b"[" * 100000,
            b'{"command":"\\ud800"}',
        ):  # fmt: skip
            with self.subTest(body[:20]):
                document = self.sshx.json("run", "--request", "-", stdin=body, code=255, version="sshx.error.v1")
                self.assert_fields(document, error_kind="config")

    def test_a_syntax_error_names_the_place(self):
        document = self.sshx.json("run", "--request", "-", stdin=b'{\n "targets": [,]\n}', code=255)
        self.assert_config(document, "line 2", codes=("json",))

    def test_a_file_that_is_not_there(self):
        path = os.path.join(self.sshx.directory, "absent.json")
        document = self.sshx.json("run", "--request", path, code=255, version="sshx.error.v1")
        self.assert_fields(document, error_kind="local_io", error__code="not_found")
        self.assert_mentions(document["error"]["message"], path)

    def test_a_command_is_measured_in_bytes(self):
        for character, count, code in (("a", 31900, 0), ("ä", 15900, 0), ("ä", 31900, 255), ("😀", 31900, 255)):
            with self.subTest(character=character, count=count):
                request = {"targets": ["target"], "command": f"x={character * count}; echo ran"}
                document = self.by_request(request, code=code)
                if code == 0:
                    self.assert_fields(document, stdout="ran\n")
                else:
                    self.assert_fields(document, error_kind="config", error__code="range")

    def test_nul_in_a_string_is_refused(self):
        for name in ("command", "user", "identity", "address"):
            with self.subTest(name):
                request = {"targets": ["target"], "command": "true"}
                if name == "address":
                    del request["targets"]
                document = self.by_request({**request, name: "a\0b"}, code=255)
                self.assert_fields(document, error_kind="config")

    # Design §9: what only the command line may say is not refused there, but an unknown surface is.
    def test_every_operation_takes_a_request(self):
        for words, request in (
            (("host", "add"), {"name": "new", "address": "host-a"}),
            (("host", "update"), {"name": "target", "port": 23}),
            (("host", "show"), {"name": "target"}),
            (("host", "list"), {"tags": ["a=b"]}),
            (("host", "remove"), {"name": "new"}),
            (("audit", "query"), {"limit": 1}),
            (("schema", "list"), {}),
            (("schema", "show"), {"name": "run"}),
        ):
            with self.subTest(words):
                done = self.sshx.ok(*words, "--request", "-", "--json", stdin=json.dumps(request).encode("utf-8"))
                self.assertTrue(json.loads(done.out))


if __name__ == "__main__":
    unittest.main()
