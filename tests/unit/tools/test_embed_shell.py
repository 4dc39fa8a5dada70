"""The tool that makes a one-line constant of a shell script."""

import os
import subprocess
import sys
import tempfile
import unittest

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_TOOL = os.path.join(_ROOT, "tools", "embed_shell", "embed.py")


def embed(script):
    """The tool's exit status, the header that it wrote and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        source, header = os.path.join(folder, "x.sh"), os.path.join(folder, "x.h")
        with open(source, "w", encoding="ascii") as file:
            file.write(script)
        done = subprocess.run(
            [sys.executable, "-B", _TOOL, source, header, "a::b", "kScript"], capture_output=True, text=True, check=False
        )
        written = ""
        if os.path.exists(header):
            with open(header, encoding="ascii") as file:
                written = file.read()
        return done.returncode, written, done.stderr


class EmbedTest(unittest.TestCase):
    def test_comments_and_line_ends_go(self):
        code, header, _ = embed("# says hello\n\nif true; then\n  # not this\n  echo hello;\nfi\n")
        self.assertEqual(code, 0)
        self.assertIn('namespace a::b {\n\ninline constexpr std::string_view kScript = R"sh(', header)
        self.assertIn('R"sh(if true; then echo hello; fi)sh";', header)

    def test_what_a_login_shell_would_read_differently_is_refused(self):
        for character in ("'", "\\", "!"):
            with self.subTest(character):
                code, header, words = embed(f"echo {character}\n")
                self.assertEqual((code, header), (1, ""))
                self.assertIn(repr(character), words)

    def test_the_script_that_ends_a_session_passes(self):
        with open(os.path.join(_ROOT, "src", "exec", "end_session.sh"), encoding="ascii") as file:
            code, header, words = embed(file.read())
        self.assertEqual(code, 0, words)
        self.assertIn("sshx:$nonce:", header)


if __name__ == "__main__":
    unittest.main()
