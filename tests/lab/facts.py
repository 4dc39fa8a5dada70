"""Small readers of what a document says."""

import base64
import json


def stream(document, name):
    """The bytes of `stdout` or `stderr`, decoded as the document says."""
    text = document[name]
    if document[f"{name}_encoding"] == "base64":
        return base64.b64decode(text, validate=True)
    return text.encode("utf-8")


def size_in_document(document, name):
    """How many bytes the stream takes as encoded in JSON, without its quotes."""
    return len(json.dumps(document[name], ensure_ascii=False).encode("utf-8")) - 2
