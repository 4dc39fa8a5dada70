#!/usr/bin/env python3
"""Turns a shell script into a C++ constant of one line, fit to stand between single quotes in any login shell.

usage: tools/embed_shell/embed.py SCRIPT HEADER NAMESPACE CONSTANT
"""

import sys

# csh expands "!" and reads "\\" before a newline even between single quotes; fish reads "\\" there.
_FORBIDDEN = "'\\!"


def one_line(script):
    lines = (line.strip() for line in script.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("#"))


def main():
    script_path, header_path, namespace, constant = sys.argv[1:]
    with open(script_path, encoding="ascii") as file:
        text = one_line(file.read())
    for character in _FORBIDDEN:
        if character in text:
            sys.exit(f"{script_path}: {character!r} does not stand for itself between the quotes of every shell")
    header = f"#pragma once\n\n#include <string_view>\n\nnamespace {namespace} {{\n\n"
    header += f"inline constexpr std::string_view {constant} = R\"sh({text})sh\";\n\n}}  // namespace {namespace}\n"
    with open(header_path, "w", encoding="ascii") as file:
        file.write(header)


if __name__ == "__main__":
    main()
