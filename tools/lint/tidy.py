#!/usr/bin/env python3
"""Runs clang-tidy on the translation units of src/ and remembers which were clean.

usage: tools/lint/tidy.py --build DIR [--shard I/N] [FILE...]

A unit is remembered under a digest of the clang-tidy version, .clang-tidy, its compile command and the
text of the source and of every header it includes (from ninja's own dependency log), so a second run
costs next to nothing and any change that could matter runs again. Kept in ${XDG_CACHE_HOME:-~/.cache}/
sshx-build/tidy; entries that were not used for 30 days are dropped.
"""

import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("clang-tidy-16", "clang-tidy")  # 14, Debian 12's default, does not know libstdc++'s coroutines
KEPT_DAYS = 30


def find_clang_tidy():
    for name in NAMES:
        if path := shutil.which(name):
            return path
    sys.exit(f"tidy: none of {', '.join(NAMES)} is installed")


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    directory = pathlib.Path(base) / "sshx-build" / "tidy"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def drop_stale(directory):
    oldest = time.time() - KEPT_DAYS * 86400
    for entry in directory.iterdir():
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)


def translation_units(build):
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    units = [c for c in commands if pathlib.Path(c["file"]).is_relative_to(ROOT / "src")]
    return sorted(units, key=lambda c: c["file"])


def headers_by_object(build):
    """Object file -> the files it was compiled from, as ninja recorded them."""
    # ninja may rewrite its log when it reads it, and another shard reads it at the same moment.
    with open(build / "tidy.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found, current = {}, None
    for line in listing.splitlines():
        if match := re.match(r"(\S+): #deps \d+, .*\((VALID|STALE)\)", line):
            current = found.setdefault(match[1], []) if match[2] == "VALID" else None
        elif line.startswith("    ") and current is not None:
            current.append(build / line.strip())
    return found


class Digests:
    """Content digests of files, each read once."""

    def __init__(self):
        self._known = {}

    def of(self, path):
        if path not in self._known:
            self._known[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._known[path]


def unit_digest(unit, dependencies, settings, digests):
    """None when ninja has no current record of the unit's headers: then it has to run."""
    output = re.search(r" -o (\S+)", unit["command"])
    files = dependencies.get(output[1]) if output else None
    if not files:
        return None
    whole = hashlib.sha256(settings + unit["command"].encode())
    for path in sorted({pathlib.Path(unit["file"]), *files}):
        whole.update(f"{path} {digests.of(path)}\n".encode())
    return whole.hexdigest()


def is_foreign(output):
    """Whether every finding lies in a system header. The analyzer's core checks cannot be turned off while others are
    on, and take the fields of Asio's coroutine frames for uninitialised."""
    places = re.findall(r"^(\S+?):\d+:\d+: (?:warning|error):", output, re.MULTILINE)
    return bool(places) and not any(pathlib.Path(place).is_relative_to(ROOT) for place in places)


def run(clang_tidy, build, unit):
    command = [clang_tidy, "--quiet", "-p", str(build), unit["file"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # The count of suppressed warnings in system headers is on stderr; it matters only when nothing else does.
    output = done.stdout.strip() or (done.stderr.strip() if done.returncode else "")
    clean = done.returncode == 0 and not output
    return clean or is_foreign(output), output.replace(f"{ROOT}/", "")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--shard", default="0/1", help="this one of so many parts, from 0")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def chosen_units(arguments, build):
    units = translation_units(build)
    if arguments.files:
        wanted = {str(f.resolve()) for f in arguments.files}
        return [u for u in units if u["file"] in wanted]
    index, count = map(int, arguments.shard.split("/"))
    return units[index::count]


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    clang_tidy = find_clang_tidy()
    version = subprocess.run([clang_tidy, "--version"], capture_output=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_bytes()
    cache, digests, failed = cache_directory(), Digests(), 0
    drop_stale(cache)
    dependencies = headers_by_object(build)
    units = chosen_units(arguments, build)
    for unit in units:
        digest = unit_digest(unit, dependencies, settings, digests)
        if digest and (cache / digest).exists():
            (cache / digest).touch()
            continue
        clean, output = run(clang_tidy, build, unit)
        if clean and digest:
            (cache / digest).touch()
        elif not clean:
            failed += 1
            print(output, flush=True)
    print(f"tidy: {len(units)} units, {failed} with findings")
    return 1 if failed or not units else 0


if __name__ == "__main__":
    sys.exit(main())
