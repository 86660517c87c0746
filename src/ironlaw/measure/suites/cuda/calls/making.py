"""How calls are made: `CALLS[op](inputs, params)` prepares tensors and gives the call to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.inputs import SweepInputs

Params = Mapping[str, Any]
Make = Callable[[SweepInputs, Params], Call]
Shapes = list[tuple[int, ...]]
Table = dict[str, tuple[Callable[[Params], Shapes], Callable[..., Any]]]  # op -> shapes of its inputs, function of params and inputs


def registrar(calls: dict[str, Make]) -> Callable[..., Callable[[Make], Make]]:
    """A decorator that enters the function below it into a file's own table, under the names of ops."""

    def makes(*ops: str) -> Callable[[Make], Make]:
        def enter(make: Make) -> Make:
            calls.update(dict.fromkeys(ops, make))
            return make

        return enter

    return makes


def from_table(table: Table) -> dict[str, Make]:
    """The calls of ops that a table describes."""

    def one(shapes: Callable[[Params], Shapes], call: Callable[..., Any]) -> Make:
        def make(i: SweepInputs, p: Params) -> Call:
            inputs = [i.act(size, p["dtype"]) for size in shapes(p)]
            return lambda: call(p, *inputs)

        return make

    return {op: one(shapes, call) for op, (shapes, call) in table.items()}


def matrix(p: Params) -> Shapes:
    return [(p["rows"], p["cols"])]


def matrix_and_row(p: Params) -> Shapes:
    return [(p["rows"], p["cols"]), (p["cols"],)]


def image(p: Params) -> Shapes:
    return [shape(p)]


def shape(p: Params) -> tuple[int, ...]:
    return p["n"], p["c"], p["h"], p["w"]


def heads(i: SweepInputs, p: Params, *lengths: int) -> list[Any]:
    """Queries, keys and values as transposed views of [batch, sequence, heads, width]."""
    counts = (p["h"], *[p.get("hkv", p["h"])] * (len(lengths) - 1))
    return [i.act((p["b"], s, h, p["d"]), p["dtype"]).transpose(1, 2) for s, h in zip(lengths, counts, strict=True)]
