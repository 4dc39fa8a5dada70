"""Man pages: prose from man/*.in, with OPTIONS and EXAMPLES from the descriptors, as semantic mdoc(7)."""

import json
import re

from .model import DescriptorError

PLACEHOLDER = re.compile(r"^@(OPTIONS|EXAMPLES) ([a-z.]+)@$", re.MULTILINE)


def pages(folder, operations, version):
    """{file name: text} of every man/*.in. An operation whose options no page shows is an error."""
    by_name = {operation.name: operation for operation in operations}
    result, shown = {}, set()
    for path in sorted(folder.glob("*.in")):
        source = path.read_text(encoding="utf-8")
        for kind, name in PLACEHOLDER.findall(source):
            if name not in by_name:
                raise DescriptorError(f"{path.name}: @{kind} {name}@: there is no such operation")
            if kind == "OPTIONS":
                shown.add(name)
        text = PLACEHOLDER.sub(lambda m: fill(m[1], by_name[m[2]]), source)
        result[path.name.removesuffix(".in")] = text.replace("@VERSION@", version)
    missing = sorted(set(by_name) - shown)
    if missing:
        raise DescriptorError(f"man: no page has @OPTIONS {missing[0]}@")
    return result


def fill(kind, operation):
    return (options(operation) if kind == "OPTIONS" else examples(operation)).rstrip("\n")


def options(operation):
    lines = []
    for group in groups_of(operation):
        lines += [f".It Sy {escape(group)}", ".Bl -tag -width Ds"]
        for prop in operation.properties + operation.presentation:
            if prop.group == group and prop.placement != "none":
                lines += [f".It {heading(prop)}", *sentences(describe(prop))]
        lines.append(".El")
    return "\n".join([".Bl -tag -width Ds", *lines, ".El"])


def groups_of(operation):
    """The groups in the order of their first property."""
    return list(dict.fromkeys(
        p.group for p in operation.properties + operation.presentation if p.placement != "none"))


def heading(prop):
    if prop.placement == "positional":
        return f"Ar {escape(prop.value)}"
    if prop.placement == "rest":
        return f"Fl - Ar {escape(prop.value)} ..."
    long = f"Fl -{escape(prop.flag)}" + (f" Ar {argument(prop.value)}" if prop.value else "")
    return f"Fl {prop.short} , {long}" if prop.short else long


def describe(prop):
    """The description, then what a person must know: choices, range, default, repetition, the request's spelling."""
    text = [prop.schema["description"]]
    if prop.choices:
        text.append("One of " + ", ".join(f"`{c}`" for c in prop.choices) + ".")
    limits = [prop.schema.get("minimum"), prop.schema.get("maximum")]
    if None not in limits:
        text.append(f"From {plain(prop, limits[0])} to {plain(prop, limits[1])}.")
    if prop.type != "boolean" and "default" in prop.schema:
        text.append(f"Default: {plain(prop, prop.schema['default'])}.")
    if prop.required:
        text.append("Required.")
    if prop.type == "array" and prop.schema.get("maxItems") != 1:
        text.append("May be repeated" + (", or separated by commas." if prop.commas else "."))
    return " ".join(text)


TIME_UNITS = [(3600, "h"), (1, "s")]
SIZE_UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "")]


def plain(prop, value):
    """A limit or default as it would be typed, as src/cli/help.cpp has it."""
    if isinstance(value, str):
        return value
    units = {"number": TIME_UNITS}.get(prop.type) or (SIZE_UNITS if prop.value == "SIZE" else [(1, "")])
    for size, name in units:
        if value >= size and value % size == 0:
            return f"{value // size}{name}"
    return f"{json.dumps(value)}{units[-1][1]}"


def examples(operation):
    lines = []
    for example in operation.examples:
        # A display begins a paragraph by itself, so the next example needs no .Pp before it.
        lines += [*sentences(example["text"]), ".Dl " + argument(example["command"], quote=False)]
    return "\n".join(lines)


def sentences(text):
    """Running text as mdoc lines: a sentence a line, and what stands in backquotes as a literal."""
    lines = []
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z`$\-])", text):
        pieces = re.split(r"`([^`]*)`([.,;:)]*)", sentence)
        for i in range(0, len(pieces), 3):
            if pieces[i].strip():
                lines.append(escape(pieces[i].strip()))
            if i + 1 < len(pieces):
                after = " ".join(pieces[i + 2])
                lines.append(f".Ql {argument(pieces[i + 1])} {after}".rstrip())
    return lines


def escape(text):
    """Text that roff takes as it stands. A dash is one that can be copied into a shell."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\\&" + text if text[:1] in (".", "'") else text


def argument(text, quote=True):
    """One macro argument: quoted, so that no word of it is taken for a macro."""
    text = escape(text).replace('"', "\\(dq")
    return f'"{text}"' if quote and " " in text else ("\\&" + text if len(text) in (2, 3) else text)
