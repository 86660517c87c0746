"""A JSON Schema says of a type what a validator must know: checked by hand, and by what jsonschema lets pass."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from jsonschema import Draft202012Validator

from ironlaw.outputs.json_schema import object_schema, type_schema
from ironlaw.outputs.named_outputs import DOCUMENTS, PARTS


class Part(TypedDict):
    size: int


class Whole(TypedDict):
    name: Annotated[str, "in words"]
    part: Part | None
    shares: dict[str, float] | None
    mode: Literal["eager", "graphs"] | None
    calls: float | Literal["never"] | None
    first: NotRequired[Annotated[Sequence[Any], {"minItems": 1}]]


WHOLE = {"name": "x", "part": {"size": 1}, "shares": {"a": 0.5}, "mode": "eager", "calls": "never", "first": [None]}


def test_each_kind_of_type_by_hand():
    part = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}
    assert object_schema(Whole, {}) == {
        "type": "object",
        "required": ["name", "part", "shares", "mode", "calls"],
        "properties": {
            "name": {"type": "string", "description": "in words"},
            "part": part | {"type": ["object", "null"]},
            "shares": {"type": ["object", "null"], "additionalProperties": {"type": "number"}},
            "mode": {"enum": ["eager", "graphs", None]},
            "calls": {"anyOf": [{"type": "number"}, {"const": "never"}, {"type": "null"}]},
            "first": {"type": "array", "items": {}, "minItems": 1},
        },
    }


def test_a_part_with_a_schema_of_its_own_is_referred_to():
    fields = object_schema(Whole, {Part: "urn:x"})["properties"]
    assert fields["part"] == {"anyOf": [{"$ref": "urn:x"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({}, True),
        ({"part": None, "mode": None, "calls": 2.5}, True),
        ({"part": {}}, False),
        ({"mode": "fast"}, False),
        ({"calls": "always"}, False),
        ({"first": []}, False),
        ({"shares": {"a": "b"}}, False),
    ],
)
def test_a_validator_takes_what_the_type_allows(change, passes):
    assert Draft202012Validator(object_schema(Whole, {})).is_valid(WHOLE | change) == passes


def test_a_type_without_a_schema_is_refused():
    with pytest.raises(TypeError, match="complex"):
        type_schema(complex, {})


def test_every_named_output_says_what_it_is():
    assert not DOCUMENTS.keys() & PARTS.keys()
    assert all(kind.__doc__ and not kind.__doc__.endswith(".") for kind in (DOCUMENTS | PARTS).values())
