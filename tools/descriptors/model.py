"""Reads the operation descriptors, expands shared groups, and checks that they keep the conventions."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
OPERATION = re.compile(r"[a-z]+(\.[a-z]+)*")
# The subset of ECMAScript patterns that src/core/pattern.cpp matches: ^, then literals and classes with a quantifier, then $.
# A negated class or a dot stands for one byte there, so it may not be counted.
LITERAL = r"[A-Za-z0-9=:/_%@,#~-]|\\[.+*?()\[\]{}|^$/\\]"
RANGES = r"(?:[^\]\\^])+"
PATTERN = re.compile(
    rf"\^(?:(?:{LITERAL}|\[{RANGES}\])(?:[+*?]|\{{\d+(?:,\d*)?\}})?|(?:\.|\[\^{RANGES}\])[+*]?)*\$")

DESCRIPTOR_KEYS = {
    "operation", "title", "summary", "description", "document", "several_document", "dry_run_document", "examples", "presentation", "request",
    "group_default", "tool"}
REQUIRED_KEYS = DESCRIPTOR_KEYS - {"several_document", "dry_run_document", "tool", "group_default"}
REQUEST_KEYS = {"x-include", "required", "properties"}
COMMON_KEYS = {"type", "description", "default", "x-group", "x-cli", "x-surface", "x-mcp"}
MCP_KEYS = {"default", "maximum"}
GROUP_KEYS = {"title", "presentation", "properties"}
TYPE_KEYS = {
    "string": {"minLength", "maxLength", "pattern", "enum"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set(),
    "array": {"items", "maxItems"},
}
ITEM_KEYS = {"type", "minLength", "maxLength", "pattern", "enum"}
CLI_KEYS = {"flag", "short", "value", "positional", "commas", "complete"}
COMPLETIONS = {"host", "file", "schema", "operation"}
# What --help can show in 80 columns, indented by two.
EXAMPLE_WIDTH = 78
# The command line keeps these for itself, on every operation.
RESERVED_FLAGS = {"help", "version"}
RESERVED_SHORTS = {"h", "V"}


class DescriptorError(Exception):
    """A descriptor breaks a convention; the text says where and which."""


@dataclass
class Property:
    """One property of a request, with the command line's view of it settled."""

    name: str
    schema: dict
    group: str
    required: bool
    flag: str = ""
    short: str = ""
    value: str = ""
    placement: str = "flag"
    position: int = 0
    commas: bool = False
    complete: str = ""
    cli_only: bool = False
    mcp: dict = field(default_factory=dict)

    @property
    def type(self):
        return self.schema["type"]

    @property
    def constraints(self):
        """Where the limits on a text are: the items' of a list, else the property's own."""
        return self.schema["items"] if self.type == "array" else self.schema

    @property
    def choices(self):
        return self.constraints.get("enum", [])


@dataclass
class Operation:
    """One operation as its file declares it, shared groups expanded."""

    name: str
    title: str
    summary: str
    description: str
    document: str
    several_document: str
    dry_run_document: str
    group_default: bool
    examples: list
    properties: list = field(default_factory=list)
    presentation: list = field(default_factory=list)
    # The `tool` block of an operation that is an MCP tool; tool.py reads and checks it.
    tool: dict = None

    @property
    def words(self):
        return self.name.replace(".", " ")

    @property
    def spellings(self):
        """The words that name it: `mcp serve`, and `mcp` where the group's word alone stands for it."""
        return [self.words] + ([self.words.split()[0]] if self.group_default else [])

    @property
    def options(self):
        """All that has a flag, request first."""
        return [p for p in self.properties + self.presentation if p.flag]

    @property
    def on_mcp(self):
        """Whether agents can ask for it: only then can it be told which surface it is on."""
        return any(p.name == "surface" for p in self.presentation)

    @property
    def positionals(self):
        return sorted((p for p in self.properties if p.placement == "positional"), key=lambda p: p.position)

    @property
    def rest(self):
        return next((p for p in self.properties if p.placement == "rest"), None)


def parse_json(path):
    """The JSON value of a file; a key that stands twice is an error, since one of the two would be lost."""
    def unique(pairs):
        keys = [key for key, _ in pairs]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise DescriptorError(f"{path.name}: {sorted(twice)[0]} stands twice in one object")
        return dict(pairs)

    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise DescriptorError(f"{path.name}: {error}") from error


def load(folder):
    """All operations of a folder, sorted by name, checked."""
    shared = parse_json(folder / "_shared.json")
    for name, group in shared.items():
        expect_keys(f"_shared.json: {name}", group, GROUP_KEYS, {"title", "properties"})
    files = sorted(p for p in folder.glob("*.json") if not p.name.startswith("_"))
    operations = [read_operation(path, parse_json(path), shared) for path in files]
    for operation in operations:
        check_operation(operation)
    check_prefixes(operations)
    check_group_defaults(operations)
    check_flags_agree(operations)
    return sorted(operations, key=lambda operation: operation.name)


def read_operation(path, source, shared):
    where = path.name
    expect_keys(where, source, DESCRIPTOR_KEYS, REQUIRED_KEYS)
    if source["operation"] != path.stem:
        raise DescriptorError(f"{where}: operation is {source['operation']!r}, the file says {path.stem!r}")
    request = source["request"]
    expect_keys(f"{where}: request", request, REQUEST_KEYS, {"properties"})
    required = set(request.get("required", []))
    properties = [
        read_property(where, name, schema, group, name in required)
        for name, schema, group in expand(where, request, shared)]
    unknown = required - {p.name for p in properties}
    if unknown:
        raise DescriptorError(f"{where}: required names {sorted(unknown)[0]!r}, which is no property")
    return Operation(
        name=source["operation"], title=source["title"], summary=source["summary"], description=source["description"],
        document=source["document"], several_document=source.get("several_document", ""), dry_run_document=source.get("dry_run_document", ""),
        group_default=source.get("group_default", False), examples=source["examples"],
        properties=properties, presentation=read_presentation(where, source["presentation"], shared),
        tool=source.get("tool"))


def read_presentation(where, names, shared):
    """The options that are not part of the request: single ones, and whole groups that may be used so."""
    result = []
    for name in names:
        for option, schema, title in presentation_entries(where, name, shared):
            result.append(read_property(where, option, schema, title, False))
    for prop in result:
        prop.cli_only = True
    return result


def presentation_entries(where, name, shared):
    """(name, schema, group) of what one entry of `presentation` stands for."""
    single = shared["presentation"]
    if name in single["properties"]:
        return [(name, single["properties"][name], single["title"])]
    group = shared.get(name, {})
    if not group.get("presentation"):
        raise DescriptorError(f"{where}: presentation {name!r} is not in _shared.json, or not a group of such options")
    return [(option, schema, group["title"]) for option, schema in group["properties"].items()]


def expand(where, request, shared):
    """(name, schema, group) of each property: the included groups in their order, then the operation's own."""
    result = []
    for include in request.get("x-include", []):
        if include not in shared or include == "presentation":
            raise DescriptorError(f"{where}: x-include {include!r} is not a group of request properties in _shared.json")
        title = shared[include]["title"]
        result += [(name, schema, title) for name, schema in shared[include]["properties"].items()]
    for name, schema in request["properties"].items():
        if "x-group" not in schema:
            raise DescriptorError(f"{where}: {name}: x-group is missing")
        result.append((name, schema, schema["x-group"]))
    names = [name for name, _, _ in result]
    for name in names:
        if names.count(name) > 1:
            raise DescriptorError(f"{where}: {name}: declared twice; shared groups and own properties must not clash")
    return result


def read_property(where, name, schema, group, required):
    place = f"{where}: {name}"
    check_schema(place, schema)
    cli = schema.get("x-cli", {})
    expect_keys(f"{place}: x-cli", cli, CLI_KEYS, set())
    kind = schema["type"]
    prop = Property(
        name=name, schema=schema, group=group, required=required, short=cli.get("short", ""), value=cli.get("value", ""),
        commas=cli.get("commas", kind == "array"), complete=cli.get("complete", ""),
        cli_only=schema.get("x-surface") == ["cli"], mcp=schema.get("x-mcp", {}))
    place_property(prop, cli)
    if not prop.complete and prop.value in ("FILE", "SOCKET"):
        prop.complete = "file"
    check_property(place, prop, cli)
    return prop


def place_property(prop, cli):
    """Where the property stands on the command line: a word, the rest, nowhere, or (the rule) a flag."""
    positional = cli.get("positional")
    if positional == "rest":
        prop.placement = "rest"
    elif positional is not None:
        prop.placement, prop.position = "positional", positional
    elif "flag" in cli and cli["flag"] is None:
        prop.placement = "none"
    else:
        prop.flag = cli.get("flag", prop.name.removesuffix("_seconds").replace("_", "-"))


def expect_keys(where, value, allowed, required):
    if not isinstance(value, dict):
        raise DescriptorError(f"{where}: must be an object")
    for key in value:
        if key not in allowed:
            raise DescriptorError(f"{where}: {key!r} is not a key that descriptors have")
    for key in sorted(required):
        if key not in value:
            raise DescriptorError(f"{where}: {key!r} is missing")


def check_schema(where, schema):
    """One property's schema: one plain type, described, with the limits of that type and no combinators."""
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPE_KEYS:
        raise DescriptorError(f"{where}: type must be one of {', '.join(TYPE_KEYS)}")
    expect_keys(where, schema, COMMON_KEYS | TYPE_KEYS[kind], {"type", "description"})
    if not schema["description"].endswith("."):
        raise DescriptorError(f"{where}: the description must be a sentence")
    if kind == "array":
        if "items" not in schema:
            raise DescriptorError(f"{where}: items is missing")
        expect_keys(f"{where}: items", schema["items"], ITEM_KEYS, {"type"})
        if schema["items"]["type"] != "string":
            raise DescriptorError(f"{where}: items must be strings")
    if kind == "boolean" and schema.get("default") is not False:
        raise DescriptorError(f"{where}: a boolean is false by default; one that turns a thing off has its own name")
    if schema.get("x-surface", ["cli"]) != ["cli"]:
        raise DescriptorError(f"{where}: x-surface is [\"cli\"] or absent")
    check_pattern(where, schema["items"] if kind == "array" else schema)
    check_default(where, schema)
    check_mcp(where, schema)


def check_pattern(where, schema):
    pattern = schema.get("pattern")
    if pattern is not None and not PATTERN.fullmatch(pattern):
        raise DescriptorError(f"{where}: pattern {pattern!r} is outside the subset that core/pattern.h describes")


def check_default(where, schema):
    if "default" not in schema:
        return
    default, kind = schema["default"], schema["type"]
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
    fits = isinstance(default, types[kind]) and (kind == "boolean" or not isinstance(default, bool))
    if fits and kind in ("integer", "number"):
        fits = schema.get("minimum", default) <= default <= schema.get("maximum", default)
    if fits and "enum" in schema:
        fits = default in schema["enum"]
    if not fits:
        raise DescriptorError(f"{where}: default {default!r} does not keep the property's own rules")


def check_mcp(where, schema):
    """What other numbers hold for agents: within the property's own, and of no property that they cannot give."""
    if "x-mcp" not in schema:
        return
    if "x-surface" in schema:
        raise DescriptorError(f"{where}: x-mcp is of no use where x-surface keeps the property from agents")
    changes = schema["x-mcp"]
    expect_keys(f"{where}: x-mcp", changes, MCP_KEYS, set())
    if not changes:
        raise DescriptorError(f"{where}: x-mcp changes nothing")
    if "maximum" in changes:
        check_mcp_maximum(where, schema)
    check_default(f"{where}: x-mcp", {**schema, **changes})


def check_mcp_maximum(where, schema):
    maximum, kind = schema["x-mcp"]["maximum"], schema["type"]
    numeric = {"integer": int, "number": (int, float)}.get(kind, ())
    fits = isinstance(maximum, numeric) and not isinstance(maximum, bool)
    if not fits or not schema.get("minimum", maximum) <= maximum <= schema.get("maximum", maximum):
        raise DescriptorError(f"{where}: x-mcp: maximum {maximum!r} does not keep the property's own rules")


def check_property(where, prop, cli):
    if not SNAKE.fullmatch(prop.name):
        raise DescriptorError(f"{where}: names are snake_case")
    if prop.flag and not KEBAB.fullmatch(prop.flag):
        raise DescriptorError(f"{where}: flag {prop.flag!r} is not kebab-case")
    if prop.short and not re.fullmatch("[A-Za-z]", prop.short):
        raise DescriptorError(f"{where}: short must be one letter")
    if prop.complete and prop.complete not in COMPLETIONS:
        raise DescriptorError(f"{where}: complete must be one of {', '.join(sorted(COMPLETIONS))}")
    if prop.type == "boolean" and (prop.value or prop.placement != "flag"):
        raise DescriptorError(f"{where}: a boolean is a flag without a value")
    if prop.type != "boolean" and prop.placement != "none" and not prop.value:
        raise DescriptorError(f"{where}: x-cli.value (the name of the value) is missing")
    if prop.type == "array" and prop.flag and "flag" not in cli:
        raise DescriptorError(f"{where}: a list needs a singular flag")
    if prop.type != "array" and "commas" in cli:
        raise DescriptorError(f"{where}: commas is for lists")
    check_units(where, prop)
    if prop.placement in ("positional", "rest") and prop.type != "string":
        raise DescriptorError(f"{where}: a positional is a string")


def check_units(where, prop):
    """The parser reads a number's unit from its value name, so name, type and value name must agree."""
    if prop.name.endswith("_seconds") != (prop.type == "number"):
        raise DescriptorError(f"{where}: *_seconds and only those are numbers")
    if prop.type == "number" and prop.value != "TIME":
        raise DescriptorError(f"{where}: the value of a duration is called TIME")
    if (prop.type == "integer" and prop.name.endswith("_bytes")) != (prop.value == "SIZE"):
        raise DescriptorError(f"{where}: an integer *_bytes and only that has a value called SIZE")


def check_operation(operation):
    where = f"{operation.name}.json"
    if not OPERATION.fullmatch(operation.name):
        raise DescriptorError(f"{where}: operation names are words joined by dots")
    for key in ("title", "summary", "description"):
        if not getattr(operation, key).strip():
            raise DescriptorError(f"{where}: {key} is empty")
    if not isinstance(operation.group_default, bool) or (operation.group_default and "." not in operation.name):
        raise DescriptorError(f"{where}: group_default is true for one operation of a group, or absent")
    check_unique(where, operation)
    positions = [p.position for p in operation.positionals]
    if positions != list(range(len(positions))):
        raise DescriptorError(f"{where}: positional numbers must be 0, 1, ... without a gap")
    if sum(p.placement == "rest" for p in operation.properties) > 1:
        raise DescriptorError(f"{where}: more than one property takes the words after --")
    if not operation.examples:
        raise DescriptorError(f"{where}: an example is missing")
    for example in operation.examples:
        expect_keys(f"{where}: example", example, {"command", "text"}, {"command", "text"})
        if not example["command"].startswith(tuple(f"sshx {words}" for words in operation.spellings)):
            raise DescriptorError(f"{where}: example {example['command']!r} is not of this operation")
        if len(example["command"]) > EXAMPLE_WIDTH:
            raise DescriptorError(f"{where}: example {example['command']!r} is longer than {EXAMPLE_WIDTH} columns")


def check_unique(where, operation):
    flags = [p.flag for p in operation.options]
    shorts = [p.short for p in operation.options if p.short]
    for kind, names, reserved in (("--", flags, RESERVED_FLAGS), ("-", shorts, RESERVED_SHORTS)):
        for name in names:
            if names.count(name) > 1 or name in reserved:
                raise DescriptorError(f"{where}: {kind}{name} is taken")


def check_group_defaults(operations):
    """A group's word can stand for one operation only."""
    groups = [operation.name.split(".")[0] for operation in operations if operation.group_default]
    for group in groups:
        if groups.count(group) > 1:
            raise DescriptorError(f"{group}.*.json: two operations are the group's default")


def check_prefixes(operations):
    """No operation's words may begin another's, or the longer one could not be told from a positional."""
    names = {operation.name for operation in operations}
    for name in names:
        for other in names:
            if other.startswith(name + "."):
                raise DescriptorError(f"{other}.json: the operation {name} takes its words")


def check_flags_agree(operations):
    """A flag takes a value everywhere or nowhere, since options may stand before the words that name the operation."""
    spellings = {f"--{operation.name.replace('.', '-')}": None for operation in operations}
    for operation in operations:
        for prop in operation.options:
            for spelling in [f"--{prop.flag}"] + ([f"-{prop.short}"] if prop.short else []):
                takes_value = prop.type != "boolean"
                if spellings.setdefault(spelling, takes_value) != takes_value:
                    raise DescriptorError(
                        f"{operation.name}.json: {prop.name}: {spelling} is a spelling of an operation, or takes a value in "
                        "one operation and none in another")
