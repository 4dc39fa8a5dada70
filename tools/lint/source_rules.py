#!/usr/bin/env python3
"""House rules that neither the compiler nor clang-tidy knows.

usage: tools/lint/source_rules.py [--root DIR]

Function length and parameter counts are clang-tidy's (readability-function-size). Exit status 1 and one
line "file:line: rule" for each violation.
"""

import argparse
import pathlib
import re
import sys

MAX_LINES = 500
CPP = (".h", ".cpp")
CHECKED = {"src": CPP, "tests": CPP + (".py",), "tools": (".py",)}

EMPTY_WORDS = r"(?:Manager|Helper|Util|Utils|Handler|Data)"
TYPE_WITH_EMPTY_NAME = re.compile(rf"\b(?:class|struct|enum class|using|concept)\s+\w*{EMPTY_WORDS}\b")
FILE_WITH_EMPTY_NAME = re.compile(r"(?:^|_)(?:manager|helpers?|utils?|handler|data)(?:_|$)")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
# A `return` in main is the only way out: exit() would skip destructors, and with them the audit's last row.
EXIT_CALL = re.compile(r"(?<![\w.>])(?:std::)?(?:exit|quick_exit)\s*\(")
COMMENT = re.compile(r"//.*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def line_problems(top, path, number, line):
    if UNFINISHED.search(line) and path.name != pathlib.Path(__file__).name:
        yield f"{number}: unfinished work belongs in an issue"
    if path.suffix not in CPP:
        return
    code = COMMENT.sub("", STRING.sub('""', line))
    if TYPE_WITH_EMPTY_NAME.search(code):
        yield f"{number}: a name that says nothing (Manager, Helper, Util, Handler, Data)"
    if top == "src" and not code.isascii():
        yield f"{number}: code outside strings and comments is plain ASCII"
    if top == "src" and path.name != "main.cpp" and EXIT_CALL.search(code):
        yield f"{number}: exit() outside main.cpp"


def file_problems(top, path):
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        yield f"{len(lines)}: {len(lines)} lines; {MAX_LINES} at most"
    if top == "src" and FILE_WITH_EMPTY_NAME.search(path.stem):
        yield "1: a file name that says nothing (manager, helper, util, handler, data)"
    if path.suffix == ".h" and "#pragma once" not in lines:
        yield "1: a header begins with #pragma once"
    for number, line in enumerate(lines, 1):
        yield from line_problems(top, path, number, line)


def problems(root):
    root = pathlib.Path(root)
    for top, suffixes in CHECKED.items():
        for path in sorted((root / top).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                for problem in file_problems(top, path):
                    yield f"{path.relative_to(root).as_posix()}:{problem}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    found = list(problems(parser.parse_args().root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
