"""B161: canaries in every place where people put secrets; none may reach the evidence, an error or a hint."""

import glob
import json
import os
import unittest

from tests.lab import LabCase, TargetCase

_CANARY = "hunter2-EXAMPLE"


def _commands(canary):
    """Commands as people write them, each with one secret."""
    return {
        "option with equal sign": f"deploy --token={canary} now",
        "option with a blank": f"deploy --password {canary} now",
        "api key option": f"deploy --api-key={canary}",
        "secret option": f"tool --client-secret {canary}",
        "variable before": f"TOKEN={canary} deploy",
        "exported variable": f"export AWS_SECRET_ACCESS_KEY={canary}; deploy",
        "quoted variable": f"DB_PASSWORD='{canary}' deploy",
        "double quoted variable": f'DB_PASSWORD="{canary}" deploy',
        "database client": f"false && mysql -p{canary} -u app",
        "password variable of a client": f"PGPASSWORD={canary} true",
        "url": f"false && curl https://alice:{canary}@host-a.example/x",
        "database url": f"false && psql postgres://app:{canary}@db.example/app",
        "query of a url": f"false && curl 'https://host-a.example/?access_token={canary}&x=1'",
        "bearer header": f"false && curl -H 'Authorization: Bearer {canary}'",
        "basic header": f"false && curl -H 'Authorization: Basic {canary}'",
        "header with a key": f"false && curl -H 'X-Api-Key: {canary}'",
        "user and password": f"false && curl -u alice:{canary} https://host-a.example",
        "json": f"false && curl -d '{{\"password\":\"{canary}\"}}'",
        "sshpass": f"false && sshpass -p {canary} ssh host-b",
    }


class CommandTest(TargetCase):
    def stored(self):
        content = b""
        for path in glob.glob(self.sshx.audit_path + "*"):
            with open(path, "rb") as file:
                content += file.read()
        return content

    def test_no_secret_reaches_the_evidence(self):
        for number, (title, command) in enumerate(_commands(_CANARY).items()):
            self.sshx.run("run", "--target", "target", "--request-id", f"r{number}", "--", command)
            with self.subTest(title):
                self.assertNotIn(_CANARY.encode("ascii"), self.stored())
        self.assertIn(b"started", self.stored())

    def test_no_secret_comes_out_of_queries(self):
        for command in _commands(_CANARY).values():
            self.sshx.run("run", "--target", "target", "--", command)
        count = len(_commands(_CANARY))
        for words in (("audit", "query"), ("audit", "query", "--json")):
            done = self.sshx.ok(*words)
            self.assertNotIn(_CANARY, done.text + done.error_text)
        events = self.sshx.json("audit", "query", code=0)["events"]
        self.assertEqual(len(events), count)
        for event in events:
            done = self.sshx.ok("audit", "show", event["execution_id"], "--json")
            self.assertNotIn(_CANARY, done.text + done.error_text)

    def test_no_secret_comes_out_of_a_result_or_a_plan(self):
        # The command runs nothing that would print it back.
        for title, command in _commands(_CANARY).items():
            quiet = f"exec >/dev/null 2>&1; {command}"
            with self.subTest(title):
                done = self.sshx.run("run", "--target", "target", "--json", "--", quiet)
                self.sshx.document(done)
                self.assertNotIn(_CANARY, done.text + done.error_text)
                done = self.sshx.run("run", "--target", "target", "--dry-run", "--json", "--", quiet)
                self.sshx.document(done)
                self.assertNotIn(_CANARY, done.text + done.error_text)

    def test_no_secret_comes_out_of_failures(self):
        for title, command in _commands(_CANARY).items():
            with self.subTest(title):
                for options in (("--port", "1"), ("--identity", "/nonexistent"), ("--timeout", "0.2s")):
                    done = self.sshx.run("run", "--target", "target", *options, "--", f"exec >/dev/null 2>&1; {command}")
                    self.assertNotIn(_CANARY, done.text + done.error_text)

    def test_the_command_itself_is_sent_unchanged(self):
        document = self.run_json(f"TOKEN={_CANARY}; test ${{#TOKEN}} = {len(_CANARY)}", code=0)
        self.assertNotIn(_CANARY, document["command"])

    def test_the_digest_is_of_the_exact_bytes(self):
        first = self.run_json(f"TOKEN={_CANARY} true", code=0)["action"]
        second = self.run_json(f"TOKEN={_CANARY}-other true", code=0)["action"]
        self.assertEqual(first["command"], second["command"])
        self.assertNotEqual(first["payload_sha256"], second["payload_sha256"])

    def test_output_is_never_redacted(self):
        document = self.run_json("printf 'password: changed\\ntoken=%s\\n' shown", code=0)
        self.assertEqual(document["stdout"], "password: changed\ntoken=shown\n")

    def test_harmless_commands_stay_as_they_are(self):
        for command in (
            "grep -r password /etc/ssh", "passwd --status root", "echo token", "ls --time-style=long-iso",
            "cat /var/log/auth.log", "mysql --version; true", "systemctl status secrets.service; true", "date -u",
            "curl -u; true", "mkdir -p /tmp; true", "echo 'the secret of the password'", "tar -pxf; true",
        ):  # fmt: skip
            with self.subTest(command):
                done = self.sshx.run("run", "--target", "target", "--json", "--", command)
                self.assertEqual(self.sshx.document(done)["command"], command)


class ErrorTextTest(LabCase):
    def test_no_secret_in_usage_errors(self):
        for words in (
            ("run", "--address", f"alice:{_CANARY}@host-a", "--", "true"),
            ("run", "--address", f"ssh://alice:{_CANARY}@host-a", "--", "true"),
            ("run", f"--password={_CANARY}", "--target", "x", "--", "true"),
            ("run", "--target", "x", f"TOKEN={_CANARY}", "deploy"),
            ("host", "add", "a", "--address", f"alice:{_CANARY}@host-a"),
            ("run", "--target", "nowhere", "--", f"TOKEN={_CANARY} deploy"),
        ):
            with self.subTest(words):
                for suffix in ((), ("--json",)):
                    arguments = [*words[:1], *suffix, *words[1:]]
                    done = self.sshx.run(*arguments)
                    self.assertEqual(done.code, 255, done)
                    self.assertNotIn(_CANARY, done.text + done.error_text)

    def test_no_secret_in_request_errors(self):
        for request in (
            {"targets": ["x"], "command": "true", "stdin": _CANARY, "port": "22"},
            {"targets": ["x"], "command": "true", "stdin_base64": _CANARY},
            {"targets": ["x"], "command": f"TOKEN={_CANARY} true", "colour": "red"},
            {"targets": ["x"], "command": "true", "password": _CANARY},
        ):
            with self.subTest(request):
                done = self.sshx.expect(255, "run", "--request", "-", "--json", stdin=json.dumps(request).encode("ascii"))
                self.assertNotIn(_CANARY, done.text + done.error_text)
        broken = b'{"stdin": "' + _CANARY.encode("ascii") + b'", oops}'
        done = self.sshx.expect(255, "run", "--request", "-", "--json", stdin=broken)
        self.assertNotIn(_CANARY, done.text + done.error_text)

    # B160: no option takes a secret, and none is in the environment of what we start.
    def test_no_option_takes_a_password(self):
        text = self.sshx.ok("run", "--help").text.lower()
        for word in ("--password", "--passphrase", "--token", "--secret"):
            self.assertNotIn(word, text)

    def test_key_text_is_never_shown(self):
        path = os.path.join(self.sshx.directory, "id")
        with open(self.lab.key().path, encoding="ascii") as file:
            text = file.read()
        body = text.splitlines()[2]
        with open(path, "w", encoding="ascii") as file:
            file.write(text.replace("-----END", "-----UND"))
        os.chmod(path, 0o600)
        for suffix in ((), ("--json",)):
            done = self.sshx.expect(255, "run", "--address", "127.0.0.1:1", "--identity", path, *suffix, "--", "true")
            self.assertNotIn(body, done.text + done.error_text)


if __name__ == "__main__":
    unittest.main()
