"""The MCP tools that operations are: their published form, and the rules that every client's reading of it depends on.

One tool that a client cannot read hides all the others of a server, so what is refused here is refused for good reason.
"""

import json
import re

from . import published
from .model import DescriptorError, expect_keys

TOOL_KEYS = {"name", "description", "annotations", "output"}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
# A client puts the server's name before the tool's and cuts, or refuses, what is longer than 60 altogether.
NAME_LIMIT = 40
# Some agents take 1024 characters, others 2 KiB of all text of a tool.
DESCRIPTION_LIMIT = 900
# The fields that one branches on; the whole document has a schema of its own.
OUTPUT_LIMIT = 22
PLACEHOLDER = re.compile(r"\{([a-z_]+)\.([A-Za-z]+)\}")
NUMBER = re.compile(r"(?<![A-Za-z0-9-])\d")
OUTPUT_KEYS = {
    "string": {"enum"},
    "integer": set(),
    "number": set(),
    "boolean": set(),
    "array": {"items"},
    "object": {"properties"},
}
NULL = {"type": "null"}
# What every tool may answer with: when the request became no document of its own, and when the adapter itself failed.
ERROR_DOCUMENTS = ("sshx.error.v1", "sshx.adapter.v1")


def tools(operations, documents):
    """The published tools of the operations that are one, as schemas of kind `tool`; documents are published schemas."""
    by_name = {document.name: json.loads(document.text) for document in documents}
    result = []
    for operation in operations:
        if operation.tool:
            check(operation, by_name)
            value = published_tool(operation)
            result.append(published.Schema(value["name"], "tool", f"MCP tool of {operation.words}", published.to_text(value)))
    names = [tool.name for tool in result]
    for name in names:
        if names.count(name) > 1:
            raise DescriptorError(f"two operations are the tool {name}")
    return result


def published_tool(operation):
    """The tool as `tools/list` shows it."""
    return {
        "name": operation.tool["name"],
        "title": operation.title,
        "description": description(operation),
        "inputSchema": published.tool_input_schema(operation),
        "outputSchema": {"type": "object", "properties": operation.tool["output"], "required": ["schema_version"]},
        "annotations": {"title": operation.title, **{hint: operation.tool["annotations"][hint] for hint in HINTS}},
    }


def compact(operation):
    """The tool as one line; empty for an operation that is none."""
    if not operation.tool:
        return ""
    return json.dumps(published_tool(operation), ensure_ascii=False, separators=(",", ":"))


def description(operation):
    """The description, its placeholders filled in with the numbers that hold for an agent."""
    schema = published.tool_input_schema(operation)

    def number(match):
        name, key = match.groups()
        value = schema["properties"].get(name, {}).get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DescriptorError(f"{where(operation)}: {match[0]} is no number of the request's schema")
        return json.dumps(value)

    return PLACEHOLDER.sub(number, operation.tool["description"])


def where(operation):
    return f"{operation.name}.json: tool"


def check(operation, documents):
    place, tool = where(operation), operation.tool
    expect_keys(place, tool, TOOL_KEYS, TOOL_KEYS)
    if not NAME.fullmatch(tool["name"]) or len(tool["name"]) > NAME_LIMIT:
        raise DescriptorError(f"{place}: name {tool['name']!r} must be words of [a-z] joined by _, at most {NAME_LIMIT} characters")
    check_description(place, operation)
    check_annotations(place, tool["annotations"])
    check_input(place, published.tool_input_schema(operation))
    check_output(place, operation, documents)


def check_description(place, operation):
    text = operation.tool["description"]
    # A number that stands in the text would stay when the schema's changes.
    if NUMBER.search(PLACEHOLDER.sub("", text)):
        raise DescriptorError(f"{place}: description: a number must come from the schema, as {{max_output_bytes.default}} does")
    text = description(operation)
    if "{" in text or "}" in text:
        raise DescriptorError(f"{place}: description: braces are for placeholders {{property.key}}")
    if not text.endswith("."):
        raise DescriptorError(f"{place}: the description must be sentences")
    if len(text) > DESCRIPTION_LIMIT:
        raise DescriptorError(f"{place}: the description has {len(text)} characters, more than {DESCRIPTION_LIMIT}")


def check_annotations(place, annotations):
    expect_keys(f"{place}: annotations", annotations, set(HINTS), set(HINTS))
    for hint in HINTS:
        if not isinstance(annotations[hint], bool):
            raise DescriptorError(f"{place}: annotations: {hint} must be true or false")
    if annotations["readOnlyHint"] and annotations["destructiveHint"]:
        raise DescriptorError(f"{place}: annotations: what only reads destroys nothing")


def check_input(place, schema):
    """The root that every client takes. Its properties were checked as all request properties are."""
    expect_keys(f"{place}: inputSchema", schema, {"type", "properties", "required", "additionalProperties"}, {"type", "properties"})
    if schema["type"] != "object" or schema["additionalProperties"] is not False:
        raise DescriptorError(f"{place}: inputSchema must be a closed object")
    for name, value in schema["properties"].items():
        if any(key.startswith("x-") for key in value):
            raise DescriptorError(f"{place}: inputSchema: {name} has a key of ours")
    missing = set(schema.get("required", ())) - set(schema["properties"])
    if missing:
        raise DescriptorError(f"{place}: {sorted(missing)[0]} is required, but an agent cannot give it")


def check_output(place, operation, documents):
    output = operation.tool["output"]
    if len(output) > OUTPUT_LIMIT:
        raise DescriptorError(f"{place}: output has {len(output)} properties, more than {OUTPUT_LIMIT}")
    if "schema_version" not in output:
        raise DescriptorError(f"{place}: output has no schema_version, by which one tells the documents apart")
    answers = [name for name in (operation.document, operation.several_document, operation.dry_run_document, *ERROR_DOCUMENTS) if name]
    for name in answers:
        if name not in documents:
            raise DescriptorError(f"{place}: there is no document {name}")
        if "schema_version" not in documents[name]["required"]:
            raise DescriptorError(f"{place}: {name} may come without a schema_version")
    check_properties(f"{place}: output", output, [documents[name] for name in answers])


def check_properties(place, properties, documents):
    """Each is one that a document has, and takes whatever any of the documents may hold there."""
    for name, schema in properties.items():
        here = f"{place}: {name}"
        if not schema.get("description", "").endswith("."):
            raise DescriptorError(f"{here}: the description must be a sentence")
        sources = [found for document in documents if (found := document.get("properties", {}).get(name)) is not None]
        if not sources:
            raise DescriptorError(f"{here}: no document that this tool answers with has it")
        check_value(here, schema, sources)


def check_value(place, schema, sources):
    value = not_null(place, schema)
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in OUTPUT_KEYS:
        raise DescriptorError(f"{place}: type must be one of {', '.join(OUTPUT_KEYS)}; nullable is anyOf of the type and null")
    expect_keys(place, value, {"type", "description"} | OUTPUT_KEYS[kind], {"type"})
    allowed = {kind, "null"} if "anyOf" in schema else {kind}
    for source in sources:
        beyond = kinds(source) - allowed
        if beyond:
            raise DescriptorError(f"{place}: a document may hold {sorted(beyond)[0]} there")
        check_choices(place, value, source)
    if kind == "array":
        if "items" not in value:
            raise DescriptorError(f"{place}: items is missing")
        check_value(f"{place}: items", value["items"], [source["items"] for source in sources])
    if "properties" in value:
        check_properties(place, value["properties"], sources)


def check_choices(place, value, source):
    """An enum names all that may come: a value that it lacks would make a client throw the whole result away."""
    if "enum" not in value:
        return
    choices = {source["const"]} if "const" in source else set(source.get("enum", ()))
    beyond = choices - {None} - set(value["enum"])
    if beyond or not choices:
        raise DescriptorError(f"{place}: enum lacks {sorted(beyond)[0] if beyond else 'a document that is as narrow'}")


def not_null(place, schema):
    """The schema of the value, where null may stand instead of it; type arrays are not read by every client."""
    if "anyOf" not in schema:
        return schema
    expect_keys(place, schema, {"anyOf", "description"}, {"anyOf"})
    branches = schema["anyOf"]
    if len(branches) != 2 or branches[1] != NULL:
        raise DescriptorError(f"{place}: anyOf is for a type and null, in this order")
    return branches[0]


def kinds(schema):
    """The JSON types that a document schema allows."""
    if "type" in schema:
        return {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return {names[type(value)] for value in values}
