"""`ironlaw schema`: what --json writes, as JSON Schema, read off the types in `outputs/`."""

from __future__ import annotations

import argparse
import json
from functools import cache
from typing import Any

from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw
from ironlaw.errors import unknown

EXAMPLE = """
ironlaw schema
ironlaw schema predict
"""
URN = "urn:ironlaw:"  # what a schema calls itself: urn:ironlaw:predict:1


def add(parser: Parser) -> None:
    parser.usage = "ironlaw schema [NAME]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="an output, such as predict or error; without it, a list of all")


def run(args: argparse.Namespace) -> int:
    if args.name:
        print(json.dumps(bundle(args.name), indent=1, ensure_ascii=False))
        return 0
    rows = [(_written(one), one["title"]) for one in schemas().values()]
    draw.table(["schema", "what it describes"], rows, left=("schema",), text=("what it describes",))
    draw.say("`ironlaw schema NAME` prints one. A field may be added under the same version; none is removed or changed.", draw.DIM)
    return 0


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by name, `predict`; of several versions the last that is listed."""
    from ironlaw.outputs.json_schema import object_schema
    from ironlaw.outputs.named_outputs import DOCUMENTS, PARTS

    references = {kind: f"{URN}{name.replace('/', ':')}" for name, kind in PARTS.items()}
    made = {}
    for name, kind in (DOCUMENTS | PARTS).items():
        about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{URN}{name.replace('/', ':')}", "title": kind.__doc__}
        shape = object_schema(kind, references)
        if name in DOCUMENTS:  # as `systems.question.document` writes them
            shape["required"] = ["schema", "ironlaw", *shape["required"]]
            version = {"type": "string", "description": "the version that wrote it"}
            shape["properties"] = {"schema": {"const": f"ironlaw-{name}"}, "ironlaw": version} | shape["properties"]
        made[name.partition("/")[0]] = about | shape
    return dict(sorted(made.items()))


def bundle(name: str) -> dict[str, Any]:
    """One schema with all that it refers to inside it, so that any validator can take it as it is."""
    every = schemas()
    short = name.removeprefix("ironlaw-").partition("/")[0]
    if short not in every:
        raise unknown("schema", name, every)
    whole = every[short]
    parts: dict[str, Any] = {}
    waiting = _references(whole)
    while waiting:
        part = waiting.pop()
        if part not in parts and part != short:
            parts[part] = every[part]
            waiting |= _references(every[part])
    return whole | ({"$defs": {part: parts[part] for part in sorted(parts)}} if parts else {})


def _references(node: Any) -> set[str]:
    """Names of the schemas that this one refers to."""
    if isinstance(node, list):
        return set().union(*map(_references, node))
    if not isinstance(node, dict):
        return set()
    own = str(node.get("$ref", ""))
    named = {own.removeprefix(URN).partition(":")[0]} if own.startswith(URN) else set()
    return named.union(*map(_references, node.values()))


def _written(one: dict[str, Any]) -> str:
    """The name in the field `schema`; a part of other schemas has none of its own."""
    name, _, version = one["$id"].removeprefix(URN).partition(":")
    return f"ironlaw-{name}/{version}" if "schema" in one.get("properties", {}) else f"({name})"
