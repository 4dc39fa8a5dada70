"""Host keys: which one is asked for, and what is said of the one that comes."""

import itertools
import os
import subprocess
import unittest

from tests.lab import TargetCase
from tests.lab.keys import KINDS

_MAIN_KINDS = ("ed25519", "ecdsa256", "rsa")


class HostKeyCase(TargetCase):
    """`dial` is a run with the known_hosts lines given."""

    server_options = {"log_level": "DEBUG1"}
    is_trusted = False

    def other_line(self, kind="ed25519"):
        """A line for the server's name with a key that it does not have."""
        return f"{self.server.known_hosts_name} {self.lab.key(kind, name='other').public_line}"

    def dial(self, *lines, code, options=()):
        self.sshx.trust(*lines)
        return self.sshx.json("run", "--target", "target", *options, "--", "echo in", code=code)

    def assert_refused(self, document, verdict):
        self.assert_fields(
            document,
            schema_version="sshx.result.v1",
            error__kind="host_key",
            error__code=verdict,
            success=False,
            executed=False,
            completion="not_started",
            auth_method=None,
            exit_code=-1,
        )


class StoredTypeTest(HostKeyCase):
    """B060: a stored key is the one that is asked for."""

    server_options = {"host_key_kinds": KINDS}

    def assert_accepted(self, kinds):
        document = self.dial(*(self.server.known_hosts_line(kind) for kind in kinds), code=0)
        seen = document["peers"][0]["host_key_fingerprint"]
        self.assertIn(seen, [self.server.host_keys[kind].fingerprint for kind in kinds])

    def test_each_single_type(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.assert_accepted((kind,))

    def test_each_pair(self):
        for pair in itertools.combinations(KINDS, 2):
            with self.subTest(pair):
                self.assert_accepted(pair)

    def test_a_wrong_key_of_another_type_does_not_hide_the_right_one(self):
        for right, wrong in itertools.permutations(_MAIN_KINDS, 2):
            with self.subTest(right=right, wrong=wrong):
                document = self.dial(self.server.known_hosts_line(right), self.other_line(wrong), code=None)
                # The key that was seen decides, and a refusal must name a changed key.
                if not document["success"]:
                    self.assert_refused(document, "changed")
                else:
                    self.assertEqual(
                        document["peers"][0]["host_key_fingerprint"], self.server.host_keys[right].fingerprint
                    )

    def test_two_stored_keys_of_a_type(self):
        self.dial(self.other_line("ed25519"), self.server.known_hosts_line("ed25519"), code=0)


class VerdictTest(HostKeyCase):
    def assert_no_login_was_tried(self, before):
        self.assertNotIn("userauth-request", self.server.log()[before:])

    def test_unknown(self):
        before = len(self.server.log())
        document = self.dial(code=255)
        self.assert_refused(document, "unknown")
        self.assert_no_login_was_tried(before)
        text = f"{document['error']['message']} {document['error']['hint']}"
        self.assert_mentions(text, self.server.host_keys["ed25519"].fingerprint, "host trust")

    def test_missing_file_is_an_unknown_host(self):
        self.assert_refused(self.sshx.json("run", "--target", "target", "--", "true", code=255), "unknown")

    def test_changed(self):
        before = len(self.server.log())
        document = self.dial(self.other_line(), code=255)
        self.assert_refused(document, "changed")
        self.assert_no_login_was_tried(before)
        self.assert_mentions(document["error"]["message"], self.server.host_keys["ed25519"].fingerprint)

    # B061: a key of another type is neither an attack nor accepted.
    def test_other_type(self):
        before = len(self.server.log())
        for kind in ("rsa", "ecdsa256"):
            with self.subTest(kind):
                document = self.dial(self.other_line(kind), code=255)
                self.assert_refused(document, "other_type")
                self.assertNotIn("attack", document["error"]["message"].lower())
        self.assert_no_login_was_tried(before)

    def test_revoked(self):
        before = len(self.server.log())
        line = self.server.known_hosts_line()
        self.assert_refused(self.dial(line, f"@revoked {line}", code=255), "revoked")
        self.assert_refused(self.dial(f"@revoked * {line.split(' ', 1)[1]}", line, code=255), "revoked")
        self.assert_no_login_was_tried(before)

    def test_a_certificate_authority_is_no_host_key(self):
        self.assert_refused(self.dial(f"@cert-authority {self.server.known_hosts_line()}", code=255), "unknown")

    def test_text_mode_names_the_verdict(self):
        self.sshx.trust(self.other_line())
        done = self.sshx.expect(255, "run", "--target", "target", "--", "true")
        self.assertEqual(done.out, b"")
        self.assertTrue(done.err.startswith(b"sshx: "), done)
        self.assert_mentions(done.error_text, "changed")

    def test_a_refused_run_is_in_the_evidence(self):
        self.dial(code=255, options=("--request-id", "refused"))
        (event,) = self.sshx.json("audit", "query", "--request-id", "refused", code=0)["events"]
        self.assert_fields(event, outcome="failed", error_kind="host_key", executed=False)


class RelaxationTest(HostKeyCase):
    def test_an_unknown_host_is_accepted_on_demand_and_not_recorded(self):
        document = self.dial(code=0, options=("--accept-unknown-host",))
        self.assertTrue(document["warnings"])
        self.assertEqual(self.sshx.known_hosts(), "")
        self.dial(code=255)

    def test_a_changed_key_is_not_an_unknown_host(self):
        self.assert_refused(self.dial(self.other_line(), code=255, options=("--accept-unknown-host",)), "changed")

    def test_insecure_goes_on_and_warns(self):
        document = self.dial(self.other_line(), code=0, options=("--insecure-hostkey",))
        self.assertTrue(document["warnings"])

    def test_insecure_does_not_accept_a_revoked_key(self):
        line = f"@revoked {self.server.known_hosts_line()}"
        self.assert_refused(self.dial(line, code=255, options=("--insecure-hostkey",)), "revoked")

    def test_text_mode_is_loud(self):
        self.sshx.trust()
        done = self.sshx.ok("run", "--target", "target", "--insecure-hostkey", "--", "true")
        self.assert_mentions(done.error_text, "sshx: ", "host key")


class FileFormTest(HostKeyCase):
    """B065: the forms of known_hosts lines."""

    def line(self, name=None, rest=""):
        key = self.server.host_keys["ed25519"].public_line
        return f"{name or self.server.known_hosts_name} {key}{rest}"

    def hashed(self, name):
        path = os.path.join(self.sshx.directory, "to_hash")
        with open(path, "w", encoding="ascii") as file:
            file.write(self.line(name) + "\n")
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
        with open(path, encoding="ascii") as file:
            return file.read().strip()

    def test_forms_that_match(self):
        name, port = self.server.known_hosts_name, self.server.port
        for title, lines in {
            "hashed": [self.hashed(name)],
            "list": [self.line(f"other,{name},third")],
            "wildcard": [self.line("*")],
            "wildcard part": [self.line(f"[127.0.0.?]:{port}")],
            "comment": [self.line(rest=" a comment of several words")],
            "carriage return": [self.line(rest="\r")],
            "tabs": [self.line().replace(" ", "\t")],
            "leading blanks": [" \t" + self.line()],
            "bad lines around": ["garbage", "|1|bad|bad ssh-ed25519 AAAA", "x ssh-ed25519 !!!!", self.line(), "@what x y z"],
            "comment and blank lines": ["# a", "", "   ", self.line()],
            "negated other": [self.line(f"!other,{name}")],
        }.items():
            with self.subTest(title):
                self.dial(*lines, code=0)

    def test_a_line_that_is_skipped_is_told_by_its_number(self):
        document = self.dial("# fine", "x ssh-ed25519 !!!!", self.line(), code=0)
        (warning,) = document["warnings"]
        self.assert_mentions(warning, f"{self.sshx.known_hosts_path}:2")

    def test_forms_that_do_not_match(self):
        name, port = self.server.known_hosts_name, self.server.port
        for title, lines in {
            "commented out": ["#" + self.line()],
            # A name that is not found with its port is looked up without it too, as ssh does.
            "negated": [self.line(f"*,!{name},!{self.server.address}")],
            "other port": [self.line(f"[127.0.0.1]:{port + 1}")],
            "other host hashed": [self.hashed(f"[127.0.0.2]:{port}")],
            "cut base64": [self.line()[:-20]],
            "type does not fit the key": [self.line().replace("ssh-ed25519", "ssh-rsa", 1)],
        }.items():
            with self.subTest(title):
                self.assert_fields(self.dial(*lines, code=255), error_kind="host_key", executed=False)

    def test_twenty_thousand_lines(self):
        filler = self.lab.key(name="other").public_line
        lines = [f"host-{number},10.0.{number >> 8 & 255}.{number & 255} {filler}" for number in range(20000)]
        self.dial(*lines, self.line(), code=0)

    def test_last_line_without_line_feed(self):
        with open(self.sshx.known_hosts_path, "w", encoding="ascii") as file:
            file.write(self.line())
        self.sshx.ok("run", "--target", "target", "--", "true")

    def test_a_file_that_cannot_be_read_is_an_error_and_not_an_unknown_host(self):
        os.mkdir(self.sshx.known_hosts_path)
        document = self.sshx.json("run", "--target", "target", "--", "true", code=255)
        self.assertIn(document["error_kind"], ("config", "local_io"))
        self.assert_mentions(document["error"]["message"], self.sshx.known_hosts_path)

    def test_a_file_that_others_may_write_is_refused(self):
        self.sshx.trust(self.line())
        os.chmod(self.sshx.known_hosts_path, 0o666)
        document = self.sshx.json("run", "--target", "target", "--", "true", code=255)
        self.assert_fields(document, error__kind="config", error__code="unsafe_permissions")
        self.assert_mentions(f"{document['error']['message']} {document['error']['hint']}", "chmod", "known_hosts")

    def test_another_file_replaces_the_usual_ones(self):
        other = os.path.join(self.sshx.directory, "trusted")
        with open(other, "w", encoding="ascii") as file:
            file.write(self.line() + "\n")
        self.dial(self.other_line(), code=0, options=("--known-hosts", other))
        self.sshx.trust(self.line())
        with open(other, "w", encoding="ascii") as file:
            file.write("")
        document = self.sshx.json("run", "--target", "target", "--known-hosts", other, "--", "true", code=255)
        self.assert_refused(document, "unknown")

    def test_home_is_where_known_hosts_is(self):
        # HOME decides when it is set, absolute and the caller's own.
        self.sshx.trust(self.line())
        self.sshx.ok("run", "--target", "target", "--", "true")
        elsewhere = os.path.join(self.sshx.directory, "elsewhere")
        os.mkdir(elsewhere)
        document = self.sshx.json("run", "--target", "target", "--", "true", code=255, environment={"HOME": elsewhere})
        self.assert_refused(document, "unknown")


if __name__ == "__main__":
    unittest.main()
