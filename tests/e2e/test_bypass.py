"""What a request says of its own admission: a bypass is recorded with its reason, a plan that is expected is refused."""

import json
import os
import unittest

from tests.lab import TargetCase, evidence

_HASH = "sha256:" + "0" * 64
_CANARY = "hunter2-EXAMPLE"


class BypassTest(TargetCase):
    def test_it_is_in_plan_result_and_evidence(self):
        for options, force, unchecked in (
            (("--force",), True, False),
            (("--no-safety-check",), False, True),
            (("--force", "--no-safety-check"), True, True),
        ):
            with self.subTest(options):
                options = (*options, "--bypass-reason", "ticket 7: ü\n")
                expected = {"force": force, "no_safety_check": unchecked, "reason": "ticket 7: ü\n"}
                preview = self.run_json("true", options=(*options, "--dry-run"), code=0)
                self.assertEqual(preview["plan"]["bypass"], expected)
                result = self.run_json("true", options=options, code=0)
                self.assert_fields(result, bypass=expected, plan_hash=preview["plan"]["plan_hash"], risk="mutation")
                started, _ = evidence.records(self.sshx.audit_path)[-2:]
                self.assert_fields(started, event="started", bypass=expected, plan_hash=result["plan_hash"])
        evidence.check_chain(self.sshx.audit_path)

    def test_without_it_there_is_null(self):
        self.assert_fields(self.run_json("true", options=("--dry-run",), code=0), plan__bypass=None)
        self.assert_fields(self.run_json("true", code=0), bypass=None)
        self.assertIsNone(evidence.records(self.sshx.audit_path)[0]["bypass"])

    def test_it_is_shown_again(self):
        result = self.run_json("true", options=("--force", "--bypass-reason", "ticket 7"), code=0)
        (event,) = self.sshx.json("audit", "show", result["execution_id"], code=0)["events"]
        self.sshx.documents.validate(event["records"][0])
        self.assert_fields(event["records"][0], bypass__reason="ticket 7")

    def test_the_text_of_a_plan_names_it(self):
        words = ("run", "--target", "target", "--dry-run", "--force", "--bypass-reason", "ticket \x1b[2J7", "--", "true")
        done = self.sshx.ok(*words)
        self.assert_matches(done.text, r"bypass\s+force: ticket .*7")
        self.assertNotIn(b"\x1b", done.out)

    def test_what_is_asked_and_why_counts_for_the_plan(self):
        choices = (
            (),
            ("--force", "--bypass-reason", "a"),
            ("--force", "--bypass-reason", "b"),
            ("--no-safety-check", "--bypass-reason", "a"),
        )
        hashes = {self.run_json("true", options=("--dry-run", *o), code=0)["plan"]["plan_hash"] for o in choices}
        self.assertEqual(len(hashes), len(choices))

    # Design §1.4
    def test_a_secret_in_the_reason_goes_nowhere(self):
        options = ("--force", "--bypass-reason", f"PASSWORD={_CANARY} expired")
        shown = [
            self.run_json("true", options=options, code=0),
            self.run_json("true", options=(*options, "--dry-run"), code=0),
            self.run_json("true", options=(*options, "--dry-run", "--expect-plan", _HASH), code=255),
            *evidence.records(self.sshx.audit_path),
        ]
        text = json.dumps(shown) + self.sshx.ok("run", "--target", "target", "--dry-run", *options, "--", "true").text
        self.assertNotIn(_CANARY, text)
        self.assertIn("expired", text)


class RefusalTest(TargetCase):
    def refused(self, *options):
        """The error of a request that is refused before anything happens."""
        before = self.server.connections()
        document = self.run_json("true", options=options, code=255)
        self.assert_fields(document, schema_version="sshx.error.v1", error__kind="config", error__retry_safety="safe")
        preview = self.run_json("true", options=("--dry-run", *options), code=255)
        self.assert_fields(preview, schema_version="sshx.request.v1", valid=False, plan=None)
        self.assertEqual(preview["error"], document["error"])
        self.assertEqual(self.sshx.run("run", "--target", "target", *options, "--", "true").code, 255)
        self.assertEqual(self.server.connections(), before)
        self.assertFalse(os.path.exists(self.sshx.audit_path))
        return document["error"]

    def test_a_bypass_needs_a_reason(self):
        for option in ("--force", "--no-safety-check"):
            with self.subTest(option):
                error = self.refused(option)
                self.assertEqual(error["code"], "required")
                self.assert_mentions(error["message"], "--bypass-reason", option)
                self.assert_mentions(error["hint"], "--bypass-reason")

    def test_a_reason_needs_a_bypass(self):
        error = self.refused("--bypass-reason", "because")
        self.assertEqual(error["code"], "request_conflict")
        self.assert_mentions(error["hint"], "--force", "--no-safety-check")

    def test_a_plan_cannot_be_expected_yet(self):
        plan_hash = self.run_json("true", options=("--dry-run",), code=0)["plan"]["plan_hash"]
        for value in (plan_hash, _HASH):
            with self.subTest(value):
                error = self.refused("--expect-plan", value)
                self.assertEqual(error["code"], "not_supported")
                self.assert_mentions(error["message"], "--expect-plan", "cannot bind")
                self.assert_mentions(error["hint"], "remove it", "plan_hash", "--dry-run")

    def test_lengths_and_patterns(self):
        for options, code in (
            (("--expect-plan", "sha256:" + "0" * 63), "pattern"),
            (("--expect-plan", "sha256:" + "A" * 64), "pattern"),
            (("--expect-plan", "0" * 64), "pattern"),
            (("--force", "--bypass-reason="), "range"),
            (("--force", "--bypass-reason", "x" * 1025), "range"),
        ):
            with self.subTest(options):
                document = self.run_json("true", options=options, code=255)
                self.assert_fields(document, error__kind="config", error__code=code)
        self.run_json("true", options=("--force", "--bypass-reason", "ü" * 1024), code=0)

    # What would have been read from stdin is left alone.
    def test_nothing_is_read_first(self):
        running = self.sshx.start(
            "run", "--target", "target", "--script-stdin", "--expect-plan", _HASH, "--json", stdin="pipe"
        )
        self.assert_fields(self.sshx.document(running.wait()), error__code="not_supported")
        running.close_stdin()


if __name__ == "__main__":
    unittest.main()
