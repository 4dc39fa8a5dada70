"""The lints of tools/lint against small trees: each bad sample must be found, the good one must pass."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINT = ROOT / "tools" / "lint"

GOOD = {
    "src/CMakeLists.txt": "sshx_room(NAME core)\nsshx_room(NAME ssh DEPENDS core LIBRARIES x)\n",
    "src/core/json.h": "#pragma once\n#include <nlohmann/json.hpp>\n#include <string>\n",
    "src/ssh/session.cpp": '#include "core/json.h"\n#include <sys/socket.h>\n#include <unistd.h>\n',
}


def load(name):
    spec = importlib.util.spec_from_file_location(name, LINT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LintCase(unittest.TestCase):
    lint = ""

    def problems(self, changes=None):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**GOOD, **(changes or {})}.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(load(self.lint).problems(root))

    def assert_one(self, changes, *parts):
        found = self.problems(changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])


class IncludeGraph(LintCase):
    lint = "include_graph"

    def test_good_tree_passes(self):
        self.assertEqual(self.problems(), [])

    def test_upward_include(self):
        self.assert_one({"src/core/a.cpp": "\n#include \"ssh/b.h\"\n", "src/ssh/b.h": ""},
                        "src/core/a.cpp:2", "ssh/b.h", "core may include nothing only")

    def test_room_that_no_arrow_reaches(self):
        self.assert_one({"src/exec/a.cpp": '#include "audit/b.h"\n', "src/audit/b.h": ""}, "src/exec/a.cpp:1", "audit/b.h")

    def test_include_of_nothing(self):
        self.assert_one({"src/core/a.cpp": '#include "core/absent.h"\n'}, "core/absent.h", "no such file")

    def test_unknown_room(self):
        self.assert_one({"src/util/a.h": ""}, "util", "no such room")

    def test_third_party_header_away_from_home(self):
        self.assert_one({"src/ssh/a.cpp": "#include <nlohmann/json.hpp>\n"}, "src/ssh/a.cpp:1", "core/json.h")

    def test_third_party_header_without_home(self):
        self.assert_one({"src/ssh/a.cpp": "#include <boost/any.hpp>\n"}, "boost/any.hpp", "without a home")

    def test_indented_and_spaced_include(self):
        self.assert_one({"src/core/a.cpp": "  #  include <sqlite3.h>\n"}, "sqlite3.h")

    def test_link_without_arrow(self):
        self.assert_one({"src/CMakeLists.txt": "\nsshx_room(NAME ssh DEPENDS core exec)\n"},
                        "src/CMakeLists.txt:2", "exec", "ssh may not link it")


class SourceRules(LintCase):
    lint = "source_rules"

    def test_good_tree_passes(self):
        self.assertEqual(self.problems(), [])

    def test_long_file(self):
        self.assert_one({"src/core/a.cpp": "\n" * 501}, "501 lines")
        self.assertEqual(self.problems({"src/core/a.cpp": "\n" * 500}), [])

    def test_names_that_say_nothing(self):
        for text in ("class SessionManager {};\n", "struct HostData {};\n", "enum class FileHandler {};\n"):
            self.assert_one({"src/core/a.cpp": text}, "src/core/a.cpp:1", "says nothing")
        self.assert_one({"src/core/string_utils.cpp": ""}, "file name")
        self.assertEqual(self.problems({"src/core/a.cpp": "struct Database {}; // not a DataManager\n"}), [])

    def test_header_without_guard(self):
        self.assert_one({"src/core/a.h": "int x();\n"}, "#pragma once")

    def test_exit_outside_main(self):
        self.assert_one({"src/core/a.cpp": "void f() { std::exit(1); }\n"}, "exit()")
        self.assertEqual(self.problems({"src/cli/main.cpp": "int main() { exit(1); }\n"}), [])
        self.assertEqual(self.problems({"src/core/a.cpp": "void f() { process.exit(1); on_exit(2); }\n"}), [])

    def test_letters_that_look_like_others(self):
        self.assert_one({"src/core/a.cpp": "int \u0430bc = 0;\n"}, "src/core/a.cpp:1", "ASCII")
        self.assertEqual(self.problems({"src/core/a.cpp": 'auto s = "\u2026 \\" //"; // \u2026\n'}), [])

    def test_unfinished_work(self):
        self.assert_one({"src/core/a.cpp": "// TO" "DO: later\n"}, "issue")


class CommandLine(unittest.TestCase):
    def test_status_and_output(self):
        with tempfile.TemporaryDirectory() as root:
            bad = pathlib.Path(root, "src/core/a.cpp")
            bad.parent.mkdir(parents=True)
            bad.write_text("#include <sqlite3.h>\n// TO" "DO\n", encoding="utf-8")
            for lint in ("include_graph", "source_rules"):
                done = subprocess.run([sys.executable, LINT / f"{lint}.py", "--root", root], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1, ""))
                self.assertTrue(done.stdout.startswith("src/core/a.cpp:"), done.stdout)


class TidyDigest(unittest.TestCase):
    """The memory of clang-tidy's verdicts must forget whenever something that matters changes."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source, self.header = (pathlib.Path(scratch.name, n) for n in ("a.cpp", "a.h"))
        self.source.write_text("source", encoding="utf-8")
        self.header.write_text("header", encoding="utf-8")

    def digest(self, settings=b"16", flags="-O1", recorded=True):
        tidy = load("tidy")
        unit = {"file": str(self.source), "command": f"c++ {flags} -o a.o -c a.cpp"}
        dependencies = {"a.o": [self.source, self.header]} if recorded else {}
        return tidy.unit_digest(unit, dependencies, settings, tidy.Digests())

    def test_same_input_same_digest(self):
        self.assertEqual(self.digest(), self.digest())

    def test_every_input_counts(self):
        before = self.digest()
        self.assertNotEqual(before, self.digest(settings=b"17"))
        self.assertNotEqual(before, self.digest(flags="-O2"))
        self.header.write_text("changed", encoding="utf-8")
        self.assertNotEqual(before, self.digest())

    def test_unknown_headers_are_never_remembered(self):
        self.assertIsNone(self.digest(recorded=False))


if __name__ == "__main__":
    unittest.main()
