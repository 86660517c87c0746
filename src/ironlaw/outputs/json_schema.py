"""From an annotated type to its JSON Schema."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
Schema = dict[str, Any]
References = Mapping[type, str]  # types that have a schema of their own -> where it is found


def object_schema(kind: type, references: References) -> Schema:
    """The schema of a TypedDict, where a field is required unless it is declared NotRequired."""
    fields = {name: type_schema(hint, references) for name, hint in get_type_hints(kind, include_extras=True).items()}
    required = kind.__required_keys__  # type: ignore[attr-defined]
    return {"type": "object", "required": [name for name in fields if name in required], "properties": fields}


def type_schema(kind: Any, references: References) -> Schema:
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return type_schema(inside[0], references) | _keywords(inside[1:])
    if origin is NotRequired:
        return type_schema(inside[0], references)
    if origin is Literal:
        return {"const": inside[0]} if len(inside) == 1 else {"enum": list(inside)}
    if origin is Sequence:
        return {"type": "array", "items": type_schema(inside[0], references)}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(inside[1], references)}
    if origin in (Union, UnionType):
        return _either([type_schema(one, references) for one in inside])
    if is_typeddict(kind):
        return {"$ref": references[kind]} if kind in references else object_schema(kind, references)
    if kind is Any:
        return {}
    if kind in NAMES:
        return {"type": NAMES[kind]}
    raise TypeError(f"{kind!r} has no JSON Schema; use str, int, float, bool, None, Any, Literal, Sequence, dict[str, …] or a TypedDict")


def _keywords(notes: tuple[Any, ...]) -> Schema:
    """A text is the description; a dict has other keywords."""
    return {key: value for note in notes for key, value in ({"description": note} if isinstance(note, str) else note).items()}


def _either(options: list[Schema]) -> Schema:
    """Any of them; a value or null is written as one type."""
    first, *rest = options
    if rest == [{"type": "null"}] and "type" in first:
        return first | {"type": [first["type"], "null"]}
    if rest == [{"type": "null"}] and "enum" in first:
        return {"enum": [*first["enum"], None]}
    return {"anyOf": options}
