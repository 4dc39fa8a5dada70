"""The schemas that sshx publishes: each operation's request, expanded, on both surfaces, and each document."""

import json
from dataclasses import dataclass

from .model import DescriptorError, parse_json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass
class Schema:
    name: str
    kind: str
    title: str
    text: str
    mcp_text: str = ""


def request_schema(operation):
    """A root object with typed, described properties and nothing else: what every agent can read."""
    return root(operation, "request", {p.name: plain(p.schema) for p in operation.properties})


def mcp_request_schema(operation):
    """The same without what agents cannot give, and with the numbers that hold for them."""
    return root(operation, "request.mcp", {p.name: mcp_plain(p) for p in operation.properties if not p.cli_only})


def root(operation, kind, properties):
    schema = {
        "$schema": DIALECT,
        "$id": f"urn:sshx:schema:{operation.name}.{kind}",
        "title": operation.title,
        "description": f"{operation.summary}. {operation.description}",
        "type": "object",
        "properties": properties,
    }
    required = [p.name for p in operation.properties if p.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def tool_input_schema(operation):
    """The same as a tool's arguments: the root that every client takes, whose words the tool has itself."""
    kept = ("type", "properties", "required", "additionalProperties")
    return {key: value for key, value in mcp_request_schema(operation).items() if key in kept}


def plain(schema):
    return {key: value for key, value in schema.items() if not key.startswith("x-")}


def mcp_plain(prop):
    return plain({**prop.schema, **prop.mcp})


def requests(operations):
    return [
        Schema(operation.name, "request", f"Request of {operation.words}", to_text(request_schema(operation)),
               to_text(mcp_request_schema(operation)) if operation.on_mcp else "")
        for operation in operations]


def documents(folder):
    """The document schemas as their files have them; the name is the file's, without `.schema.json`."""
    result = []
    for path in sorted(folder.glob("*.schema.json")):
        value = parse_json(path)
        if not value.get("title"):
            raise DescriptorError(f"{path.name}: title is missing")
        result.append(Schema(path.name.removesuffix(".schema.json"), "document", value["title"], to_text(value)))
    return result


def to_text(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
