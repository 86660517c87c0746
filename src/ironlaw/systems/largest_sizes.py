"""The largest batch and the longest sequence that fit a machine's memory, from captures at a few sizes.

What is alive while an operator runs is a sum of tensors, and a tensor's size is a product of sizes: a straight line in the batch,
at most a parabola in the length of a sequence (a mask, or scores that are written out). So two captures give each operator's line
and three its parabola, exactly, and the largest over all operators is the activations' memory at any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ironlaw.engine.device.allocator import Requests
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.memory import largest_that_fits, live_profile, spared
from ironlaw.engine.device.predict import EAGER, memory
from ironlaw.engine.device.types import Graph
from ironlaw.units import enumerated

NEEDED = {"batch": 2, "tokens": 3}
MOST = 1 << 50  # no machine is that large
GRID = 1024


@dataclass(frozen=True)
class Growth:
    """Bytes as polynomials of one size: weights and cache together, and what is alive at each operator."""

    what: str  # batch or tokens
    now: int
    held: tuple[float, ...]  # coefficients, the constant first
    alive: tuple[tuple[float, ...], ...]
    limit: int | None = None  # the model's own
    captured: Mapping[int, Graph] = field(default_factory=dict, repr=False, compare=False)
    requests: Requests | None = None  # of the allocator, where it is asked alike at each size
    sizes: tuple[tuple[float, ...], ...] = ()  # what they ask for
    margin: float = 0.0
    weights: float = 0.0  # which have none

    def on(self, machine: Hardware, plan: Plan = EAGER) -> Growth:
        """With what its libraries take for themselves there, and every request of its allocator, where it has one."""
        found = {size: memory(graph, machine, plan) for size, graph in self.captured.items()}
        asked = {size: one.requests() for size, one in found.items() if one.requests}
        margin = max((one.margin for one in found.values()), default=0.0)
        weights = max((float(one.weights) for one in found.values()), default=0.0)
        mine = replace(self, margin=margin, weights=weights)
        first, *others = asked.values() or [None]
        if not first or any(one is None or (one.order, one.resident) != (first.order, first.resident) for one in others):
            return mine
        lines = tuple(_through(list(asked), list(each)) for each in zip(*(one.sizes for one in asked.values()), strict=True))
        none = (0.0,) * len(self.held)
        held = tuple(map(sum, zip(none, *lines[: first.resident], strict=True)))
        alive, now = {none}, none
        for n in first.order:
            now = tuple(a + b if n >= 0 else a - b for a, b in zip(now, lines[max(n, ~n)], strict=True))
            alive.add(now)
        return replace(mine, held=held, alive=tuple(alive), requests=first, sizes=lines)

    def largest(self, usable: float) -> int:
        """That fits, to the nearest of `GRID` steps where the allocator, and not the sum, says no."""
        usable = float(spared(usable, self.weights, self.margin))
        most = largest_that_fits(self.total, usable, MOST)
        if not self.requests or self._has_room(most, usable):
            return most
        low, high = 0, GRID
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._has_room(most * middle // GRID, usable) else (low, middle)
        return most * low // GRID

    def _has_room(self, size: int, usable: float) -> bool:
        return not self.requests or self.requests.at([max(0.0, _at(line, size)) for line in self.sizes]).reserved(usable) is not None

    def total(self, size: int) -> float:
        return self.held_at(size) + self.alive_at(size)

    def held_at(self, size: int) -> float:
        return _at(self.held, size)

    def alive_at(self, size: int) -> float:
        return max(_at(line, size) for line in self.alive)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The largest size that fits; 0 where not even 1 does."""

    machine: Hardware
    what: str
    now: int
    largest: int
    limit: int | None = None


def growth(what: str, captured: Mapping[int, Graph], limit: int | None = None) -> Growth | None:
    """`captured`: the graph at each size, the one of the call first. None where their operators differ."""
    sizes = list(captured)
    if len(sizes) != NEEDED[what]:
        raise ValueError(f"{what} needs captures at {NEEDED[what]} sizes, and {len(sizes)} were given")
    kinds = [[op.kind for op in graph.ops] for graph in captured.values()]
    if any(other != kinds[0] for other in kinds[1:]):
        return None
    curves = [live_profile(graph) for graph in captured.values()]
    held = _through(sizes, [float(graph.weight_bytes + graph.cache_bytes) for graph in captured.values()])
    alive = {_through(sizes, list(map(float, point))) for point in zip(*curves, strict=True)}
    return Growth(what, sizes[0], held, tuple(alive), limit, captured)


def _through(sizes: list[int], values: list[float]) -> tuple[float, ...]:
    """Coefficients of the line or parabola through the points."""
    (a, b, *more), (p, q, *rest) = sizes, values
    slope = (q - p) / (b - a)
    if not more:
        return (p - slope * a, slope)
    (c,), (r,) = more, rest
    bend = ((r - q) / (c - b) - slope) / (c - a)
    return (p - slope * a + bend * a * b, slope - bend * (a + b), bend)


def _at(line: tuple[float, ...], size: int) -> float:
    return sum(coefficient * float(size) ** power for power, coefficient in enumerate(line))


def capacities(growths: Iterable[Growth], machines: Iterable[Hardware]) -> tuple[Capacity, ...]:
    known = tuple(growths)
    return tuple(
        Capacity(machine, one.what, one.now, one.on(machine).largest(float(machine.usable)), one.limit)
        for machine in machines
        for one in known
    )


def together(alike: Sequence[Capacity]) -> str:
    """`The largest batch in eager mode is 1,234 on h200_sxm and 617 on t4 (here 8)`."""
    now, limit = alike[0].now, alike[0].limit
    name = "The largest batch" if alike[0].what == "batch" else "The longest sequence, in tokens,"
    own = f"; the model itself takes {limit:,}" if limit and any(limit < one.largest for one in alike) else ""
    sizes = enumerated([f"{f'{one.largest:,}' if one.largest else 'less than 1'} on {one.machine.slug}" for one in alike])
    return f"{name} in eager mode is {sizes} (here {now:,}{own})"


def words(capacity: Capacity) -> str:
    """`a batch of up to 1,234 (here 8)`."""
    if not capacity.largest:
        return f"not even a {'batch' if capacity.what == 'batch' else 'sequence'} of 1"
    size = f"a batch of up to {capacity.largest:,}" if capacity.what == "batch" else f"sequences of up to {capacity.largest:,} tokens"
    own = f"; the model itself takes {capacity.limit:,}" if capacity.limit and capacity.limit < capacity.largest else ""
    return f"{size} (here {capacity.now:,}{own})"
