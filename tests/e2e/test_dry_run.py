"""`--dry-run` is offline, and its plan hash stands for what the request means."""

import hashlib
import json
import os
import re
import unittest

from tests.e2e.test_run_basics import DEFAULT_LIMITS
from tests.lab import LabCase, TargetCase

_TRACED = "trace=network,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat," \
          "symlink,symlinkat,chmod,fchmod,fchmodat,ftruncate,truncate,execve,execveat"  # fmt: skip
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")


def snapshot(folder):
    """Every path below `folder` with what would tell a write."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in [".", *names]:
            status = os.lstat(os.path.join(root, name))
            found[os.path.join(root, name)] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)
    return found


class PlanCase(TargetCase):
    def preview(self, *options, command=("uptime",), code=0, **keywords):
        return self.sshx.json(
            "run", "--target", "target", "--dry-run", *options, "--", *command,
            code=code, version="sshx.request.v1", **keywords,
        )  # fmt: skip

    def plan_hash(self, *options, **keywords):
        return self.preview(*options, **keywords)["plan"]["plan_hash"]


class OfflineTest(PlanCase):
    def trace(self, *arguments, stdin=None):
        """The system calls of one run that could touch the network or a file."""
        log = os.path.join(self.lab.new_directory("t"), "strace")
        done = self.sshx.run(
            *arguments, prefix=("/usr/bin/strace", "-f", "-qq", "-o", log, "-e", _TRACED), stdin=stdin,
            # Leak detection needs ptrace, which strace holds; and a sanitizer's log file would be a write.
            environment={
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:exitcode=99",
                "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", ""),
                "SSH_AUTH_SOCK": self.agent.socket,
            },
        )  # fmt: skip
        with open(log, encoding="utf-8", errors="replace") as file:
            return done, file.read().splitlines()

    def setUp(self):
        super().setUp()
        self.agent = self.lab.agent(self.lab.key())

    def assert_offline(self, *arguments, code=0, stdin=None):
        before = snapshot(self.sshx.directory)
        done, calls = self.trace(*arguments, stdin=stdin)
        self.assertEqual(done.code, code, done)
        self.assertTrue(any("execve(" in call for call in calls), "strace saw nothing")
        suspicious = [call for call in calls if self.is_suspicious(call)]
        self.assertEqual(suspicious, [])
        self.assertEqual(snapshot(self.sshx.directory), before)
        return done

    def is_suspicious(self, call):
        body = call.split(" ", 1)[-1].strip()
        if re.match(r"(open|openat|openat2)\(", body):
            return bool(_WRITING.search(body)) and "/dev/null" not in body
        if re.match(r"execve(at)?\(", body):
            return self.sshx.binary not in body
        return re.match(r"[a-z_0-9]+\(", body) is not None

    def test_the_trace_sees_a_real_run(self):
        _, calls = self.trace("run", "--target", "target", "--json", "--", "true")
        self.assertTrue(any(self.is_suspicious(call) and "connect(" in call for call in calls), calls[-20:])

    def test_no_socket_no_write_no_process(self):
        self.assert_offline("run", "--target", "target", "--dry-run", "--json", "--", "uptime")
        self.assert_offline("run", "--target", "target", "--dry-run", "--", "uptime")

    def test_not_even_with_audit_required(self):
        self.assert_offline("run", "--target", "target", "--dry-run", "--audit", "required", "--json", "--", "uptime")

    def test_not_for_a_name_that_needs_dns(self):
        done = self.assert_offline("run", "--address", "host-a.example", "--dry-run", "--json", "--", "uptime")
        document = self.sshx.document(done)
        self.assertFalse(document["plan"]["bindable"])

    def test_not_when_the_request_is_refused(self):
        self.assert_offline("run", "--target", "nowhere", "--dry-run", "--json", "--", "uptime", code=255)

    def test_not_with_a_payload(self):
        path = os.path.join(self.sshx.directory, "input")
        with open(path, "wb") as file:
            file.write(b"x" * 100)
        self.assert_offline("run", "--target", "target", "--dry-run", "--stdin-file", path, "--json", "--", "cat")

    def test_listing_and_showing_hosts_is_offline_too(self):
        self.assert_offline("host", "list", "--json")
        self.assert_offline("host", "show", "target", "--json")


class PreviewTest(PlanCase):
    def test_what_it_says(self):
        document = self.preview("--request-id", "ticket-1")
        self.assert_fields(document, valid=True, operation="run", error=None, error_kind=None)
        plan = document["plan"]
        self.assert_fields(
            plan,
            operation="run",
            risk="mutation",
            effects=["unknown"],
            bindable=True,
            unresolved=[],
            action__kind="command",
            action__command="uptime",
            action__payload_sha256="sha256:" + hashlib.sha256(b"uptime").hexdigest(),
            action__payload_bytes=6,
            action__stdin_bytes=0,
        )
        self.assertEqual(plan["limits"], DEFAULT_LIMITS)
        (target,) = plan["targets"]
        self.assert_fields(
            target,
            alias="target",
            address=self.server.address,
            port=self.server.port,
            user=self.server.user,
            identity__kind="file",
            identity__fingerprint=self.lab.key().fingerprint,
            host_key__policy="strict",
            host_key__trusted=[self.server.host_keys["ed25519"].fingerprint],
        )

    def test_request_is_the_canonical_one_with_its_defaults(self):
        request = self.preview("--timeout", "30s")["request"]
        self.assertEqual(request["targets"], ["target"])
        self.assertEqual(request["command"], "uptime")
        self.assertEqual(request["timeout_seconds"], 30)
        self.assertEqual(request["connect_timeout_seconds"], 10)

    def test_text_mode_shows_the_hash(self):
        done = self.sshx.ok("run", "--target", "target", "--dry-run", "--", "uptime")
        self.assertIn(self.plan_hash(), done.text)

    def test_nothing_ran(self):
        before = self.server.connections()
        mark = os.path.join(self.sshx.directory, "mark")
        self.preview(command=("touch", mark))
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.server.connections(), before)
        self.assertFalse(os.path.exists(self.sshx.audit_path))

    def test_an_invalid_request_exits_255(self):
        done = self.sshx.run("run", "--target", "nowhere", "--dry-run", "--json", "--", "true")
        self.assertEqual(done.code, 255)
        document = self.sshx.document(done)
        self.assert_fields(document, error_kind="config", error__code="unknown_target")


class HashTest(PlanCase):
    def test_same_request_same_hash(self):
        self.assertEqual(self.plan_hash(), self.plan_hash())

    def test_a_run_carries_the_hash_of_its_preview(self):
        self.assertEqual(self.run_json("uptime", code=0)["plan_hash"], self.plan_hash())

    def test_presentation_and_correlation_do_not_count(self):
        base = self.plan_hash()
        for options in (("--request-id", "x"), ("--quiet",), ("--audit", "off"), ("--timeout", "1m"), ("--timeout", "60")):
            with self.subTest(options):
                self.assertEqual(self.plan_hash(*options), base)

    def test_meaning_counts(self):
        hashes = {"base": self.plan_hash()}
        for options in (
            ("--timeout", "61s"), ("--connect-timeout", "11s"), ("--max-output-bytes", "1000"), ("--port", "2222"),
            ("--user", "somebody"), ("--identity", self.lab.key("rsa").path), ("--accept-unknown-host",),
            ("--insecure-hostkey",), ("--stdin",), ("--identities-only",), ("--stdin-hold",), ("--pty",),
            ("--cwd", "/srv"), ("--cwd", "/srv/"), ("--env", "A=1"), ("--env", "A=1", "--env", "B=2"),
            ("--server-alive-interval", "6"), ("--server-alive-count-max", "4"), ("--second-channel", "never"),
        ):  # fmt: skip
            hashes[options] = self.plan_hash(*options)
        hashes["command"] = self.plan_hash(command=("uptime ",))
        self.assertEqual(len(set(hashes.values())), len(hashes), hashes)

    # Design §1.4: no digest of stdin is made, so only its length counts.
    def test_stdin_counts_by_its_length_and_not_by_its_path(self):
        def with_file(name, content):
            path = os.path.join(self.sshx.directory, name)
            with open(path, "wb") as file:
                file.write(content)
            return self.plan_hash("--stdin-file", path, command=("cat",))

        first = with_file("a", b"same")
        self.assertEqual(with_file("b", b"same"), first)
        self.assertNotEqual(with_file("c", b"other"), first)

    # Design §4: any change of trust invalidates, comments and blank lines do not.
    def test_trust_counts(self):
        line = self.server.known_hosts_line()
        base = self.plan_hash()
        self.sshx.trust("# a comment", "", line)
        self.assertEqual(self.plan_hash(), base)
        other = f"host-b {self.lab.key(name='other').public_line}"
        self.sshx.trust(line, other)
        changed = self.plan_hash()
        self.assertNotEqual(changed, base)
        self.sshx.trust(other, line)
        self.assertEqual(self.plan_hash(), changed, "the records are sorted")

    def test_the_hosts_file_counts_by_what_it_says(self):
        base = self.plan_hash()
        self.sshx.ok("host", "update", "target", "--description", "text for people")
        self.assertEqual(self.plan_hash(), base)
        self.sshx.ok("host", "update", "target", "--user", "somebody")
        self.assertNotEqual(self.plan_hash(), base)


class BindableTest(PlanCase):
    def assert_unbindable(self, document, *words):
        self.assert_fields(document, valid=True, plan__bindable=False)
        text = json.dumps(document["plan"]["unresolved"])
        self.assert_mentions(text, *words)

    def test_no_public_key_beside_the_identity(self):
        alone = os.path.join(self.sshx.directory, "alone")
        with open(self.lab.key("ecdsa256").path, "rb") as source, open(alone, "wb") as copy:
            copy.write(source.read())
        os.chmod(alone, 0o600)
        self.assert_unbindable(self.preview("--identity", alone), "identity")

    def test_no_trusted_key(self):
        self.sshx.trust()
        self.assert_unbindable(self.preview(), "host_key")

    def test_relaxed_checking(self):
        for option in ("--accept-unknown-host", "--insecure-hostkey"):
            with self.subTest(option):
                self.assert_unbindable(self.preview(option), "host_key")

    def test_a_name_that_only_dns_knows(self):
        self.sshx.trust(f"* {self.server.host_keys['ed25519'].public_line}")
        self.sshx.ok("host", "update", "target", "--address", "host-a.example")
        self.assert_unbindable(self.preview(), "address")


class NoStateTest(LabCase):
    # B173: dry-run writes nothing, wherever home is.
    def test_without_a_home(self):
        document = self.sshx.json(
            "run", "--address", "127.0.0.1", "--dry-run", "--", "true", code=0,
            environment={"HOME": None, "SSHX_HOME": None, "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None},
        )  # fmt: skip
        self.assert_fields(document, valid=True, plan__bindable=False)


if __name__ == "__main__":
    unittest.main()
