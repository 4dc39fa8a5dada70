"""The base class of the end-to-end tests and their runner."""

import re
import sys
import unittest

from tests.lab.lab import Lab

_LOG_TAIL = 6000
_SKIPPED = 77


class LabCase(unittest.TestCase):
    """A lab a class, a fresh `self.sshx` a test; a failure prints what ran and what the servers logged."""

    lab = None
    sshx = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)

    def setUp(self):
        self.sshx = self.lab.sshx()

    def run(self, result=None):
        before = _trouble(result)
        outcome = super().run(result)
        if _trouble(result) > before:
            self._report()
        return outcome

    def assert_fields(self, document, **expected):
        """Compares named fields; `__` in a name walks into an object (error__code)."""
        actual = {name: _walk(document, name) for name in expected}
        self.assertEqual(actual, expected, _slim(document))

    def assert_mentions(self, text, *words):
        """Each word occurs in the text, letter case aside."""
        for word in words:
            self.assertIn(word.lower(), text.lower())

    def assert_matches(self, text, pattern):
        self.assertTrue(re.search(pattern, text, re.IGNORECASE | re.DOTALL), f"{pattern!r} not in {text!r}")

    def _report(self):
        lines = [f"==== {self.id()} failed; what ran:"]
        lines += [str(done) for done in self.sshx.history[-4:]] if self.sshx else []
        for server in self.lab.servers if self.lab else ():
            lines += [f"==== log of the server on port {server.port} (end):", server.log()[-_LOG_TAIL:]]
        print("\n".join(lines), file=sys.stderr, flush=True)


class TargetCase(LabCase):
    """A class with one server and the host `target` in every fresh inventory.

    `is_trusted`: its host key is in known_hosts; `has_identity`: the host names the key that may log in;
    `target_names`: what the server is called, each name a host; `host_options`: more words for `host add`.
    """

    server_options = {}
    target_names = ("target",)
    host_options = ()
    is_trusted = True
    has_identity = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.lab.server(**cls.server_options)

    def setUp(self):
        super().setUp()
        if self.is_trusted:
            self.sshx.trust(self.server.known_hosts_line())
        for name in self.target_names:
            self.sshx.add_host(
                name, self.server, *self.host_options, identity=self.lab.key() if self.has_identity else None
            )

    def run_json(self, *words, options=(), **keywords):
        """`sshx run --target target [options] --json -- words`."""
        return self.sshx.json("run", "--target", "target", *options, "--", *words, **keywords)


def main(names):
    """Runs test modules by dotted name; exit 77 when a test was skipped, for a skipped test is no passed one."""
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    if suite.countTestCases() == 0:
        print(f"no test in {names}", file=sys.stderr)
        return 1
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    return _SKIPPED if result.skipped else 0


def _trouble(result):
    return len(result.failures) + len(result.errors) if result is not None else 0


def _walk(document, name):
    value = document
    for part in name.split("__"):
        if not isinstance(value, dict) or part not in value:
            return f"(no field {part})"
        value = value[part]
    return value


def _slim(document):
    return {name: value for name, value in document.items() if name not in ("stdout", "stderr")}
