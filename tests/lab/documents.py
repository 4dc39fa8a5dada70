"""Checks that what sshx printed is exactly one document and obeys its published schema."""

import base64
import json
import os
import re

import jsonschema


# In the order in which a stream of one target has them; `target_started` only where it was started, `target_output` only
# with --stream.
_EVENTS = ("run_started", "target_started", "target_output", "target_finished", "run_finished")


def _unique_keys(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError(f"a property occurs twice: {sorted(n for n in names if names.count(n) > 1)}")
    return dict(pairs)


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse(text):
    """Parses strict JSON: no duplicate property, no NaN, nothing after the value."""
    return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)


def documented_codes(path):
    """The (kind, code) pairs of the table "Error kinds and codes" in docs/contract.md."""
    with open(path, encoding="utf-8") as file:
        section = file.read().split("## Error kinds and codes", 1)[1].split("\n## ", 1)[0]
    pairs = set()
    for kind, codes in re.findall(r"^\| `(\w+)` \| (.*?) \|$", section, re.MULTILINE):
        pairs |= {(kind, code) for code in re.findall(r"`(\w+)`", codes)}
    return pairs


def errors_in(value):
    """Every error object anywhere in a document."""
    if isinstance(value, dict):
        if {"kind", "code", "message", "retry_safety"} <= value.keys():
            yield value
        for item in value.values():
            yield from errors_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from errors_in(item)


def closed(schema):
    """A copy in which every object that lists its properties may hold no other.

    Published schemas are open, because fields may be added within a version; what this build prints must be described.
    """
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


def check_stream(events, is_whole):
    """The laws of sshx.event.v1: order, numbers, one run, one end of each target, and counts that follow from the events."""
    names = [event.get("event") for event in events]
    begun, ended = _executions(events, "target_started"), _executions(events, "target_finished")
    laws = [
        names[:1] == ["run_started"] and names.count("run_started") == 1 and set(names) <= set(_EVENTS),
        [event["seq"] for event in events] == list(range(1, len(events) + 1)),
        len({event["run_id"] for event in events}) == 1,
        [event["time"] for event in events] == sorted(event["time"] for event in events),
        "run_finished" not in names[:-1],
        len(set(begun)) == len(begun) and len(set(ended)) == len(ended) <= events[0]["selected"],
        all(_place(events, "target_started", one) < _place(events, "target_finished", one) for one in begun if one in ended),
        not is_whole or (names[-1] == "run_finished" and len(ended) == events[0]["selected"] and set(begun) <= set(ended)),
    ]
    if not all(laws):
        raise AssertionError(f"the stream breaks law {laws.index(False)}: {names}\n{json.dumps(events, indent=1)[:4000]}")
    _check_output(events)
    if is_whole:
        _check_counts(events)


def output_of(events):
    """What the target_output events of a stream say, by (name of the target, stream)."""
    said = {}
    for event in events:
        if event["event"] == "target_output":
            key = (event["name"], event["stream"])
            said[key] = said.get(key, b"") + _piece(event)
    return said


def _piece(event):
    data = event["data"]
    return base64.b64decode(data, validate=True) if event["encoding"] == "base64" else data.encode("utf-8")


def _check_output(events):
    """Output comes while its target runs, without gaps, and is all that the result counts."""
    seen, running = {}, set()
    for event in events:
        execution = event.get("execution_id")
        if event["event"] == "target_started":
            running.add(execution)
        elif event["event"] == "target_output":
            key = (execution, event["stream"])
            if execution not in running or event["offset"] != seen.get(key, 0):
                raise AssertionError(f"output out of place: {event} after {seen.get(key, 0)} bytes")
            seen[key] = event["offset"] + len(_piece(event))
        elif event["event"] == "target_finished":
            running.discard(execution)
            _check_output_total(event["result"], seen)


def _check_output_total(result, seen):
    totals = {stream: seen.get((result["execution_id"], stream), 0) for stream in ("stdout", "stderr")}
    if any(totals.values()) and totals != {stream: result[f"{stream}_bytes"] for stream in totals}:
        raise AssertionError(f"the events have {totals} bytes, the result {result['stdout_bytes']}, {result['stderr_bytes']}")


def _executions(events, name):
    return [event["execution_id"] for event in events if event["event"] == name]


def _place(events, name, execution):
    return next(event["seq"] for event in events if event["event"] == name and event["execution_id"] == execution)


def _fate(result):
    if result["status"] == "skipped":
        return "skipped"
    if result["executed"] is None or result["completion"] == "unknown":
        return "uncertain"
    return "succeeded" if result["success"] else "failed"


def _check_counts(events):
    finished = [event for event in events if event["event"] == "target_finished"]
    fates = [_fate(event["result"]) for event in finished]
    expected = {name: fates.count(name) for name in ("succeeded", "failed", "skipped", "uncertain")}
    expected |= {"selected": events[0]["selected"], "started": len(_executions(events, "target_started"))}
    if events[-1]["counts"] != expected:
        raise AssertionError(f"the counts are {events[-1]['counts']}, not {expected}")
    for event in finished:
        result = event["result"]
        if (result["run_id"], result["execution_id"]) != (event["run_id"], event["execution_id"]):
            raise AssertionError(f"an event names another execution than its result: {json.dumps(event, indent=1)[:4000]}")


class Documents:
    """The schemas of one folder, by `schema_version`, and the error codes that the contract lists."""

    def __init__(self, folder, contract):
        self.codes = documented_codes(contract)
        self.seen_codes = set()
        self._open = {}
        self._schemas = {}
        self._store = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".schema.json"):
                self._load(os.path.join(folder, name), name)

    @property
    def versions(self):
        return sorted(self._schemas)

    def schema(self, version):
        """The schema as published."""
        return self._open[version]

    def parse_one(self, raw):
        """Parses `raw` (bytes), which must be one document and a line feed, and validates it."""
        text = raw.decode("utf-8")
        if not text.endswith("\n"):
            raise AssertionError(f"the document does not end with a line feed: {text[-80:]!r}")
        try:
            document = parse(text)
        except ValueError as error:
            raise AssertionError(f"stdout is not one JSON document ({error}): {text[:400]!r}") from error
        self.validate(document)
        return document

    def parse_stream(self, raw, is_whole=True):
        """The events of `raw` (bytes), each validated, with the laws of a stream; what was cut off is a prefix of one."""
        lines = raw.split(b"\n")
        if lines.pop() != b"":
            raise AssertionError(f"the stream does not end with a line feed: {raw[-80:]!r}")
        events = [self.parse_one(line + b"\n") for line in lines]
        check_stream(events, is_whole)
        return events

    def validate(self, document):
        """Fails unless `document` names a known schema_version and obeys its schema."""
        if not isinstance(document, dict):
            raise AssertionError(f"the document's root is not an object: {document!r}")
        version = document.get("schema_version")
        if version not in self._schemas:
            raise AssertionError(f"unknown schema_version {version!r}; known: {self.versions}")
        problems = list(self._validator(version).iter_errors(document))
        if problems:
            listed = "\n".join(f"  at /{'/'.join(map(str, p.absolute_path))}: {p.message[:300]}" for p in problems)
            raise AssertionError(f"{version} breaks its schema:\n{listed}\n{json.dumps(document, indent=1)[:6000]}")
        self._check_codes(document)

    def _check_codes(self, document):
        for error in errors_in(document):
            pair = (error["kind"], error["code"])
            if pair not in self.codes:
                raise AssertionError(f"docs/contract.md does not list the code {pair}: {error['message']}")
            self.seen_codes.add(pair)

    def _validator(self, version):
        schema = self._schemas[version]
        # Schemas may point at each other by file name or $id; all of them are at hand, nothing is fetched.
        resolver = jsonschema.RefResolver(schema.get("$id", ""), schema, store=self._store)
        return jsonschema.Draft202012Validator(
            schema, resolver=resolver, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        )

    def _load(self, path, name):
        with open(path, encoding="utf-8") as file:
            schema = parse(file.read())
        jsonschema.Draft202012Validator.check_schema(schema)
        self._open[name[: -len(".schema.json")]] = schema
        strict = closed(schema)
        self._schemas[name[: -len(".schema.json")]] = strict
        self._store[name] = strict
        if "$id" in strict:
            self._store[strict["$id"]] = strict
