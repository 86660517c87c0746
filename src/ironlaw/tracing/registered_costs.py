"""What an operator from outside PyTorch costs, as its author says: `ironlaw.register_cost("lib::op", cost)`.

The function gets all of the operator's arguments in order (tensors have shapes and formats, and no values) and gives a dictionary:

    flops   operations in all (default 0)
    bytes   read and written in all (default: every tensor that goes in or comes out, once)
    unit    "matrix" where they are matrix products, "vector" (the default) where they are not

A Triton kernel goes by the name of its function, and gets its arguments by name. Without a cost the operator is *unknown*: its time is
bounded by its tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.errors import BadValue, unknown

UNITS = ("vector", "matrix")
Cost = Callable[..., Mapping[str, Any]]
COSTS: dict[str, Cost] = {}


def register_cost(name: str, cost: Cost) -> Cost:
    """Makes `name` ("lib::op", or the name of a Triton kernel) cost what `cost` says from now on, and hands `cost` back."""
    if not callable(cost):
        raise BadValue(f"the cost of {name} is a {type(cost).__name__}; give a function that returns a dictionary of flops, bytes and unit")
    COSTS[name] = cost
    return cost


def attributes(name: str, args: Any, kwargs: Any) -> dict[str, Any] | None:
    """What was registered for this call, checked; None where nothing was."""
    if name not in COSTS:
        return None
    try:
        cost = dict(COSTS[name](*args, **kwargs))
    except Exception as error:
        raise BadValue(
            f"the cost registered for {name} fails: {type(error).__name__}: {error}; it gets all of the operator's arguments"
        ) from error
    for key in cost:
        if key not in ("flops", "bytes", "unit"):
            raise unknown(f"part of the cost of {name}", key, ("flops", "bytes", "unit"))
    out: dict[str, Any] = {"op": name, "flops": cost.get("flops", 0.0), "unit": cost.get("unit", "vector")}
    if cost.get("bytes") is not None:
        out["bytes"] = cost["bytes"]
    for key in ("flops", "bytes"):
        if key in out and not (isinstance(out[key], (int, float)) and 0 <= out[key] < float("inf")):
            raise BadValue(f"the cost registered for {name} gives {key}={out[key]!r}; give a number that is not negative")
        if key in out:
            out[key] = float(out[key])
    if out["unit"] not in UNITS:
        raise unknown(f"unit of {name}", out["unit"], UNITS)
    return out
