"""Makes what the descriptors in schemas/operations define: C++ tables, published schemas, man pages, completion.

Run by the build. Files whose text did not change are left alone, so nothing is rebuilt for nothing.
"""

import argparse
import sys
from pathlib import Path

if not __package__:
    # Run as a script: the package is found from the root of the repository.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.descriptors import completion, mdoc, model, published, tables, tool


def outputs(schemas, man, version):
    """{path relative to the output folder: text} of everything that is generated."""
    operations = model.load(schemas / "operations")
    requests = published.requests(operations)
    documents = published.documents(schemas / "documents")
    tools = tool.tools(operations, documents)
    all_schemas = requests + documents + tools
    result = {
        "core/descriptor_tables.cpp": tables.tables(operations, all_schemas),
        "completions/sshx.bash": completion.bash(operations, all_schemas),
    }
    result |= {f"schemas/{schema.name}.request.schema.json": schema.text for schema in requests}
    result |= {f"schemas/{schema.name}.tool.json": schema.text for schema in tools}
    result |= {f"man/{name}": text for name, text in mdoc.pages(man, operations, version).items()}
    return result


def write_changed(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=Path, required=True, help="folder with operations/ and documents/")
    parser.add_argument("--man", type=Path, required=True, help="folder with the prose of the man pages")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--version", required=True, help="version of sshx")
    options = parser.parse_args(arguments)
    try:
        write_changed(options.out, outputs(options.schemas, options.man, options.version))
    except model.DescriptorError as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
