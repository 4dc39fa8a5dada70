#!/usr/bin/env python3
"""Holds the includes of src/ and the link graph of src/CMakeLists.txt to the architecture.

usage: tools/lint/include_graph.py [--root DIR]

The tables below are the architecture: a new arrow, or a new home for a third-party header, is a decision
that belongs in docs/adr/ first. Exit status 1 and one line "file:line: include: rule" for each violation.
"""

import argparse
import pathlib
import re
import sys

# Room -> rooms that it may include and link. Arrows point down only.
ARROWS = {
    "core": set(),
    "inventory": {"core"},
    "secret": {"core"},
    "loop": {"core"},
    "ssh": {"loop", "core"},
    "audit": {"core"},
    "mcp": {"loop", "core"},
    "exec": {"ssh", "loop", "inventory", "core"},
    "cli": {"mcp", "exec", "audit", "secret", "inventory", "core"},
}

# Third-party header (as a regular expression) -> the only files that may include it; None: anywhere.
HOMES = {
    r"CLI/.*": {"cli/option_parser.h", "cli/option_parser.cpp"},
    r"asio(/.*|\.hpp)": {"loop/loop.h", "loop/loop.cpp"},
    r"fmt/.*": None,
    r"libssh2(_.*)?\.h": {"ssh/libssh2.h"},
    r"nlohmann/.*": {"core/json.h"},
    r"libsecret/.*": {"secret/libsecret.h"},
    r"openssl/.*": {"secret/sealed_text.cpp", "core/sha256.cpp", "core/base64.cpp", "ssh/evp_key.cpp"},
    r"sqlite3\.h": {"audit/sqlite.h", "audit/sqlite.cpp"},
}

# Headers of C and POSIX. Anything else in angle brackets with a dot or a slash needs a home above.
SYSTEM = re.compile(r"(arpa|linux|net|netinet|sys)/[a-z0-9_]+\.h|[a-z0-9]+\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
ROOM_CALL = re.compile(r"sshx_room\(([^)]*)\)")
GENERATED = {"core/build_info.h", "exec/end_session.h"}


def sources(src):
    return sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cpp"))


def project_include_problem(src, room, include):
    target = include.split("/")[0]
    if include not in GENERATED and not (src / include).is_file():
        return 'no such file under src/ ("room/file.h" is the form)'
    if target == room or target in ARROWS.get(room, set()):
        return None
    allowed = ", ".join(sorted(ARROWS.get(room, ()))) or "nothing"
    return f"{room} may include {allowed} only"


def third_party_include_problem(file, include):
    for pattern, homes in HOMES.items():
        if re.fullmatch(pattern, include):
            if homes is None or file in homes:
                return None
            return f"only {' and '.join(sorted(homes))} may include it"
    if SYSTEM.fullmatch(include) or not re.search(r"[./]", include):
        return None
    return "third-party header without a home in tools/lint/include_graph.py"


def file_problems(src, path):
    file = path.relative_to(src).as_posix()
    room = file.split("/")[0]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        own, other = match.groups()
        problem = (project_include_problem(src, room, own) if own
                   else third_party_include_problem(file, other))
        if problem:
            yield f"src/{file}:{number}: {own or other}: {problem}"


def link_problems(src):
    path = src / "CMakeLists.txt"
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    for match in ROOM_CALL.finditer(text):
        words = match.group(1).split()
        number = text.count("\n", 0, match.start()) + 1
        room, linked, section = None, set(), None
        for word in words:
            if word in ("NAME", "DEPENDS", "LIBRARIES", "GENERATED"):
                section = word
            elif section == "NAME":
                room = word
            elif section == "DEPENDS":
                linked.add(word)
        for extra in sorted(linked - ARROWS.get(room, set())):
            yield f"src/CMakeLists.txt:{number}: {extra}: {room} may not link it"


def problems(root):
    src = pathlib.Path(root) / "src"
    for path in sources(src):
        room = path.relative_to(src).parts[0]
        if room not in ARROWS:
            yield f"src/{path.relative_to(src).as_posix()}:1: {room}: no such room in tools/lint/include_graph.py"
            continue
        yield from file_problems(src, path)
    yield from link_problems(src)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    found = list(problems(parser.parse_args().root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
