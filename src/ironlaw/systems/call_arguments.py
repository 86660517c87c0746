"""A call with an argument too many, too few or misspelt is answered by what to write, not by Python's TypeError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache, wraps
from inspect import Parameter, Signature, signature
from typing import Any, ParamSpec, TypeVar

from ironlaw.errors import BadValue

P = ParamSpec("P")
T = TypeVar("T")
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def answering(example: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For a function of the package: `example` is a call that works."""

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            check(function, args, kwargs, f"il.{function.__name__}", example)
            return function(*args, **kwargs)

        return call

    return wrap


def check(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], name: str, example: str = "") -> None:
    shape = _signature(function)
    try:
        shape.bind(*args, **kwargs)
    except TypeError:
        raise BadValue("; ".join(_reasons(shape, args, kwargs, name)) + (f". Write, say, {example}" if example else "")) from None


@lru_cache(maxsize=64)
def _signature(function: Callable[..., Any]) -> Signature:
    whole = signature(function)
    return whole.replace(parameters=[one for name, one in whole.parameters.items() if name != "self"])


def _reasons(shape: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], name: str) -> list[str]:
    known = {key: one for key, one in shape.parameters.items() if one.kind in NAMED}
    places = [key for key, one in known.items() if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    reasons: list[str] = []
    meant: set[str] = set()
    for key in kwargs:
        if key not in known:
            close = get_close_matches(key, known, 1)
            meant.update(close)
            reasons.append(
                f"{name} has no parameter `{key}`; " + (f"did you mean `{close[0]}`?" if close else f"it has {', '.join(known)}")
            )
        elif key in places[: len(args)]:
            reasons.append(f"`{key}` is given twice, by its place and by its name")
    if len(args) > len(places):
        reasons.append(f"{name} takes at most {len(places)} values without a name, and there are {len(args)}")
    given = {*kwargs, *places[: len(args)], *meant}
    missing = [f"`{key}`" for key, one in known.items() if one.default is Parameter.empty and key not in given]
    if missing:
        reasons.append(f"{name} also needs {' and '.join(missing)}")
    return reasons
