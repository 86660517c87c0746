"""Plain Python values as JSON and back, exactly: a tuple stays a tuple, a set a set. Anything else is a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = Any  # what the json module reads and writes

_READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda items: tuple(map(decode, items)),
    "set": lambda items: set(map(decode, items)),
    "dict": lambda items: {decode(key): decode(value) for key, value in items},
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*parts),
    "ellipsis": lambda _: ...,
}


def encode(value: Any) -> Json:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": [encode(item) for item in value]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is ...:
        return {"ellipsis": True}
    raise TypeError(f"a {type(value).__name__} can't be sent between processes")


def decode(data: Json) -> Any:
    if isinstance(data, list):
        return [decode(item) for item in data]
    if isinstance(data, dict):
        ((kind, content),) = data.items()
        return _READERS[kind](content)
    return data
