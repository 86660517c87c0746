"""Every schema is valid JSON Schema, stands for itself, and notices what breaks it. tests/described.py holds every output to them."""

import json

import jsonschema
import pytest
from described import check, closed, validator

from ironlaw.cli import ALIASES, COMMANDS, parser
from ironlaw.cli.schema import bundle, schemas
from ironlaw.engine.device.prediction_text import SCHEMA as PREDICTION
from ironlaw.errors import UnknownName

WITHOUT = {"labs", "lab", "site", "schema", "completion"}  # commands that have no --json


def test_every_schema_is_valid_and_has_its_name():
    assert len(schemas()) > 30
    for name, schema in schemas().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"urn:ironlaw:{name}:1" and schema["title"]
        fields = schema.get("properties", {})
        if "schema" in fields:
            assert fields["schema"] == {"const": f"ironlaw-{name}/1"} and "schema" in schema["required"]
    assert PREDICTION == "ironlaw-prediction/1"


def test_every_command_with_json_has_one():
    for command in COMMANDS:
        takes = any("--json" in action.option_strings for action in parser(command)._actions)
        assert takes != (command in WITHOUT), command
        if takes:
            names = {command, *(old for old, now in ALIASES.items() if now == command)}  # a schema keeps its name
            assert any(name.startswith(one) or one.startswith(name) for name in schemas() for one in names), command


def test_a_bundle_needs_nothing_else():
    """jsonschema has no other file to look into, so that each reference must be inside."""
    for name in schemas():
        whole = bundle(name)
        inside = {one["$id"] for one in whole.get("$defs", {}).values()}
        assert references(whole) <= {*inside, whole["$id"]}
    assert bundle("ironlaw-analyze/1") == bundle("analyze")
    with pytest.raises(UnknownName, match="did you mean predict"):
        bundle("predic")


def references(node):
    if isinstance(node, list):
        return {ref for item in node for ref in references(item)}
    if not isinstance(node, dict):
        return set()
    return {ref for item in node.values() for ref in references(item)} | ({node["$ref"]} if "$ref" in node else set())


def test_what_is_missing_or_new_or_of_another_type_is_noticed(sh):
    document = sh.json("predict", "resnet50", "--on", "h200", "--ops", "2")
    check(document)
    p = document["predictions"][0]
    for name, other in (("predictions", [{**p, "seconds": "soon"}]), ("predictions", [{**p, "more": 1}]), ("refused", None), ("extra", 1)):
        with pytest.raises(AssertionError, match="ironlaw-predict/1"):
            check({**document, name: other})
    with pytest.raises(AssertionError, match="is a required property"):
        check({key: value for key, value in document.items() if key != "settings"})
    # a reader's validator lets new fields pass: they come under the same version
    jsonschema.validate({**document, "predictions": [{**p, "more": 1}]}, bundle("predict"))
    assert closed(bundle("predict")) != bundle("predict") and validator("ironlaw-predict/1")


def test_errors_are_described(sh):
    code, out, err = sh("predict", "resnet51", "--on", "h100", "--json")
    document = json.loads(out)
    check(document)
    assert code == document["exit_code"] == 2 and document["error"]["kind"] == "UnknownName" and document["error"]["message"] in err


def test_the_command_prints_what_a_validator_takes(sh):
    out = sh.out("schema")
    assert "ironlaw-predict/1" in out and "(variant)" in out
    assert json.loads(sh.out("schema", "diff")) == bundle("diff")
    code, _, err = sh("schema", "analyse")
    assert code == 2 and "did you mean analyze" in err


def test_a_file_that_cannot_be_written_is_an_object_too(sh, monkeypatch):
    """The disk is the reason, and standard output is still whole."""

    def full(args):
        raise OSError(28, "No space left on device", "out.json")

    monkeypatch.setattr("ironlaw.cli.hardware.run", full)
    code, out, err = sh("hardware", "--json")
    document = json.loads(out)
    assert code == document["exit_code"] == 1 and "No space left on device: out.json" in document["error"]["message"] in err
