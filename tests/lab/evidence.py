"""Reads audit.db without sshx, and recomputes its chain from the written rule (docs/adr/0005) alone."""

import contextlib
import hashlib
import json
import sqlite3


def canonical(value):
    """RFC 8785 for what records hold: objects, arrays, strings, whole numbers, true, false, null."""
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(item)}" for name, item in ordered) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        raise AssertionError(f"a record holds a number with a fraction: {value}")
    return json.dumps(value, ensure_ascii=False)


def label(text):
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def _open(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return contextlib.closing(database)


def rows(path):
    """All (sequence, record text, hash), oldest first."""
    with _open(path) as database:
        return [tuple(row) for row in database.execute("SELECT sequence, record, hash FROM records ORDER BY sequence")]


def records(path):
    return [json.loads(text) for _, text, _ in rows(path)]


def store(path):
    """The store's identity: its one row, as an object."""
    with _open(path) as database:
        (row,) = database.execute("SELECT store_id, schema_version, created_at FROM store").fetchall()
        return dict(row)


def check_chain(path):
    """Fails unless sequences are whole, each record is canonical and each hash covers the one before; how many."""
    identity = store(path)
    previous, count = label(canonical(identity)), 0
    for sequence, text, stored_hash in rows(path):
        count += 1
        record = json.loads(text)
        record.pop("hash", None)
        facts = (sequence, record["sequence"], record["store_id"], record["previous_hash"], stored_hash)
        expected = (count, count, identity["store_id"], previous, label(canonical(record)))
        if facts != expected:
            raise AssertionError(f"the chain breaks at {sequence}: {facts}, expected {expected}\n{text}")
        previous = stored_hash
    return count
