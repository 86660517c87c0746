"""What an expression may do while it is computed: how large a number, a text or a list becomes, how often something is repeated, and which
attributes lead where.

`expression_tree` puts these in the place of the operations that could be abused: a power, a product, a loop, a call, a dot.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import MappingProxyType
from typing import Any

MOST_BITS = 2_000  # of a whole number: six hundred digits
MOST_ITEMS = 100_000  # of a list, characters of a text, turns of a range
MOST_TURNS = 50_000  # of all loops and small functions of one expression together
MOST_COUNT = 200_000  # a whole number that is given to a law
MOST_DRAWN = 100_000  # what laws count one by one (requests, servers, items of a list), of one expression together
MOST_S = 20.0  # of processor time: a served model takes one or two, the first time
SIZES = {
    "context",
    "hits",
    "longest",
    "micro_batches",
    "records",
    "samples",
    "seed",
    "seq",
    "tokens",
    "trials",
}  # sizes that a formula takes
PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset, range, MappingProxyType, type(None))
PLAIN_ATTRIBUTES = ("get", "join", "keys", "values", "items", "count", "index", "replace", "lower", "upper", "startswith", "endswith")
TOO_LONG = f"a text would have more than {MOST_ITEMS:,} characters"
clock = getattr(time, "thread_time", time.process_time)  # a browser has no threads
OURS = "ironlaw."  # where the values of the engine and the registries are defined


class Limits:
    """The limits of one computation."""

    def __init__(self) -> None:
        self.turns = self.drawn = 0
        self.until = clock() + MOST_S

    def names(self) -> dict[str, Any]:
        """The limits, by the names that `expression_tree` writes."""
        return {
            "_turn": self.turn, "_each": self.each, "_call": self.call, "_dot": dot,
            "_power": power, "_times": times, "_plus": plus, "_rest": rest,
        }  # fmt: skip

    def turn(self) -> bool:
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise ValueError(f"it repeats something more than {MOST_TURNS:,} times")
        return True

    def call(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        if clock() > self.until:
            raise ValueError(f"it has taken more than {MOST_S:g} s of processor time; compute less at once")
        self.drawn += _drawn(function, args, named)
        if self.drawn > MOST_DRAWN:
            raise ValueError(f"its laws would count more than {MOST_DRAWN:,} things one by one; give fewer requests, servers or items")
        return call(function, *args, **named)

    def each(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.turn()
            yield item


def power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent * base.bit_length() > MOST_BITS and abs(base) > 1:
        raise ValueError(f"{_shown(base)} ** {_shown(exponent)} is too large; write it with floats, such as 10.0 ** 300")
    return base**exponent


def times(one: Any, other: Any) -> Any:
    if isinstance(one, int) and isinstance(other, int):
        if one.bit_length() + other.bit_length() > MOST_BITS:
            raise ValueError("a product is too large; write it with floats")
        return one * other
    for items, many in ((one, other), (other, one)):
        if isinstance(items, (str, bytes, list, tuple)) and isinstance(many, int) and len(items) * many > MOST_ITEMS:
            raise ValueError(f"a list or text would be repeated to more than {MOST_ITEMS:,}")
    return one * other


def plus(one: Any, other: Any) -> Any:
    if isinstance(one, (str, bytes, list, tuple)) and isinstance(other, (str, bytes, list, tuple)) and len(one) + len(other) > MOST_ITEMS:
        raise ValueError(f"a list or text would have more than {MOST_ITEMS:,}")
    return one + other


def rest(one: Any, other: Any) -> Any:
    """`%` of numbers: of a text it is a way to write one of any length."""
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        raise ValueError("% is for numbers")
    return one % other


def call(function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    if function is range and len(range(*args)) > MOST_ITEMS:
        raise ValueError(f"a range of more than {MOST_ITEMS:,} is too long")
    if function is sum and not all(isinstance(start, (int, float)) for start in (*args[1:], *named.values())):
        raise ValueError("sum adds numbers")
    if function is round and any(abs(digits) > 300 for digits in (*args[1:], *named.values()) if isinstance(digits, int)):
        raise ValueError("round takes at most 300 digits")
    text = getattr(function, "__self__", None)
    if isinstance(text, str):
        args = _joined_within(text, args) if getattr(function, "__name__", "") == "join" else args
        if getattr(function, "__name__", "") == "replace" and len(text) * len(args[1]) > MOST_ITEMS:
            raise ValueError(TOO_LONG)
    for name, value in _counts(function, args, named):
        if abs(value) > MOST_COUNT:
            raise ValueError(f"{name} = {_shown(value)} is more than {MOST_COUNT:,}, which would be counted one by one")
    return function(*args, **named)


def _drawn(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> int:
    """What a law of ours counts one by one."""
    if not _is_ours(function):
        return 0
    counts = sum(abs(value) for name, value in _counts(function, args, named) if name not in SIZES)
    return counts + sum(len(value) for value in (*args, *named.values()) if isinstance(value, (list, tuple)))


def _joined_within(text: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = list(args[0])
    if sum(map(len, parts)) + len(parts) * len(text) > MOST_ITEMS:
        raise ValueError(TOO_LONG)
    return (parts,)


def dot(value: Any, name: str) -> Any:
    """An attribute of a value of ours; of a number, a text or a list only what reads it."""
    if type(value) in PLAIN:
        if name not in PLAIN_ATTRIBUTES:
            raise ValueError(f"the attribute {name!r} of a {type(value).__name__} is not allowed in an expression")
    elif isinstance(value, type) or not type(value).__module__.startswith(OURS):
        raise ValueError(f"attributes of a {type(value).__name__} are not allowed in an expression")
    return getattr(value, name)


def _counts(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Whole numbers that are given where a law of ours asks for one."""
    if not _is_ours(function):
        return
    whole = _whole(function)
    for place, value in enumerate(args):
        if place in whole and type(value) is int:
            yield whole[place], value
    for name, value in named.items():
        if name in whole.values() and type(value) is int:
            yield name, value


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith(OURS)


@lru_cache(maxsize=1024)
def _whole(function: Callable[..., Any]) -> dict[int, str]:
    """Place -> name of the parameters that are whole numbers."""
    try:
        listed = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {place: one.name for place, one in enumerate(listed) if str(one.annotation) in ("int", "<class 'int'>", "int | None")}


def _shown(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**12 else f"a number of {value.bit_length():,} bits"
