"""How much of a time rests on what was measured: by place (inside, near, outside, unknown) and by family, the heaviest uncovered first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.calibration.coverage import coverage
from ironlaw.engine.device.machine import NARROW, Hardware, Plan
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.uncertainty import PLACES
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.device.work import with_attrs
from ironlaw.errors import IronlawError
from ironlaw.registry.corpus_signatures import Seen

EXAMPLES = 3
HALF = ("fp16", "bf16")


@dataclass(frozen=True, slots=True)
class Example:
    """One op that is not inside: what it looks like, its share of the time, and how far from evidence it lies."""

    op: Op
    share: float
    distance: float
    place: str


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Ops of one kind that one family or curve serves, and that lie outside what was measured."""

    kind: str
    family: str
    share: float  # of all time
    outside: float  # of all time: the part that is not even near
    count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Survey:
    """`shares`: of the time, by place. `unpredicted`: ops that have no time at all on the machine."""

    hardware: Hardware
    shares: dict[str, float]
    families: tuple[Uncovered, ...]
    ops: int
    unpredicted: int


def survey(timed: Iterable[tuple[Op, float]], hardware: Hardware, plan: Plan, unpredicted: int = 0, examples: int = EXAMPLES) -> Survey:
    """Where ops with their seconds lie; `timed` may name an op many times."""
    seconds: dict[Any, tuple[Op, float]] = {}
    for op, taken in timed:
        seconds[op.key] = (op, seconds.get(op.key, (op, 0.0))[1] + taken)
    whole = sum(taken for _, taken in seconds.values())
    shares = dict.fromkeys(PLACES, 0.0)
    groups: dict[tuple[str, str], list[Example]] = {}
    for op, taken in seconds.values():
        if not taken:
            continue
        found = coverage(op, hardware, plan)
        shares[found.place] += taken / whole
        if found.place != "inside":
            groups.setdefault((op.kind, found.family), []).append(Example(op, taken / whole, found.distance, found.place))
    families = [_family(*name, rows, examples) for name, rows in groups.items()]
    return Survey(hardware, shares, tuple(sorted(families, key=lambda f: (-f.share, f.kind, f.family))), len(seconds), unpredicted)


def _family(kind: str, family: str, rows: list[Example], examples: int) -> Uncovered:
    outside = sum(row.share for row in rows if row.place != "near")
    heaviest = sorted(rows, key=lambda row: -row.share)[:examples]
    return Uncovered(kind, family, sum(row.share for row in rows), outside, len(rows), tuple(heaviest))


def of_corpus(
    seen: Iterable[Seen], hardware: Hardware, plan: Plan, dtype: str, progress: Callable[[int], None] = lambda done: None
) -> tuple[list[tuple[Op, float]], int]:
    """The corpus' ops with the time that rests on them on a machine, and how many have none there."""
    timed: list[tuple[Op, float]] = []
    refused = 0
    for done, one in enumerate(seen):
        progress(done)
        op = one.op if dtype in HALF else widened(one.op, dtype, hardware, plan)
        try:
            timed.append((op, one.weight * float(hardware.calibration.cost(op, hardware, plan).device)))  # type: ignore[union-attr]
        except IronlawError:
            refused += 1
    return timed, refused


def widened(one: Op, dtype: str, hardware: Hardware, plan: Plan) -> Op:
    """The op of a model in a wider format: what is stored in half of it is stored in that, and computed as the machine's library does."""
    inputs, outputs = ([replace(t, dtype=dtype) if t.dtype in HALF else t for t in side] for side in (one.inputs, one.outputs))
    attrs: dict[str, Any] = {name: dtype if name == "dtype" and value in HALF else value for name, value in one.attrs.items()}
    wide = make_op(one.kind, one.name, inputs, outputs, None, **attrs)
    return with_attrs(wide, dtype=NARROW) if hardware.narrows(wide.kind, wide.dtype, plan.fp32) else wide


def shape(op: Op) -> str:
    """`16×64×56×56, 64×64×3×3 → 16×64×56×56`, and what else its kernel depends on."""
    sides = ["×".join(f"{size:g}" for size in t.shape) or "1" for t in (*op.inputs[:2], op.outputs[0])]
    said = {name: op.attrs.get(name) for name in ("stride", "groups", "dilation", "layout", "strided")}
    more = [f"{name} {value}" for name, value in said.items() if value not in (None, 1, "")]
    return f"{', '.join(sides[:-1])} → {sides[-1]}" + (f" ({', '.join(more)})" if more else "")
