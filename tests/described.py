"""Whatever a command writes with --json is as its schema says, and has no field that the schema lacks. Conftests take the fixture in."""

from functools import cache
from importlib.util import find_spec

import pytest

from ironlaw.cli.schema import bundle
from ironlaw.cli.show import draw

FEW = 2  # of a long list, the first and the last


@pytest.fixture(autouse=True)
def json_is_described(monkeypatch):
    """tests/cli/test_cli_schemas.py fails where jsonschema is missing; all else can still run there."""
    write = draw.document

    def document(value, schema=""):
        written = write(value, schema)
        if find_spec("jsonschema"):
            check(written)
        return written

    monkeypatch.setattr(draw, "document", document)


def check(document):
    faults = [
        f"{'.'.join(map(str, fault.path))}: {fault.message[:300]}" for fault in validator(document["schema"]).iter_errors(short(document))
    ]
    assert not faults, f"{document['schema']}: {faults[:5]}; a field of --json is declared in src/ironlaw/outputs/"


@cache
def validator(schema):
    from jsonschema import Draft202012Validator

    whole = closed(bundle(schema))
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


def short(value):
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [short(item) for item in (value if len(value) <= 2 * FEW else (*value[:FEW], *value[-FEW:]))]
    return value


def closed(node):
    """The same schema without room for a field that it does not name."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: closed(item) for key, item in node.items()}
    if isinstance(node.get("properties"), dict) and "required" in node:
        out["additionalProperties"] = False
    return out
