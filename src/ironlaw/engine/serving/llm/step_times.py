"""What one step of a serving engine takes, from the engine's own prediction of its operators, in microseconds of looking up.

A step is made of parts that add up: products and norms over all its tokens, the head over the sequences that get a new token, attention
over the decoding sequences, attention over each chunk of a prompt, and one launch for all. Each part is predicted on a grid and is
straight between its points; beyond the last point the last slope goes on. A point is predicted when it is first looked up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import device_costs, predict
from ironlaw.engine.device.types import Graph, Op

Build = Callable[[int, int, int, int, int], Graph]  # batch, context, chunk, past, layers
Reduce = Callable[[float], float]  # bytes that every device has -> seconds until each has the sum of all
Costs = tuple[Graph, list[Cost]]  # ops as they run, and what each takes
Chunks = Sequence[tuple[int, int]]  # tokens of a prompt, and tokens of it that came before

TOKENS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 2048, 3072, 4096, 8192)
FEW_TOKENS = (1, 16, 64, 128, 256, 512, 1024, 2048, 8192)  # for a quick first answer, about two percent less exact
ROWS = (1, 16, 64, 128, 256, 512, 1024)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTEXTS = (16, 128, 512, 1024, 2048, 4096, 16_384, 65_536)
CHUNKS = (16, 128, 256, 512, 1024, 2048, 4096, 8192)
PASTS = (0, 128, 512, 2048, 8192, 32_768)
SHALLOW = 3  # layers that are built: the one in the middle is like every other


class Points(Sequence[float]):
    """Values of a part at its points, each predicted when it is asked for."""

    def __init__(self, count: int, value: Callable[[int], float]) -> None:
        self._values: list[float | None] = [None] * count
        self._value = value

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, i: Any) -> Any:
        value = self._values[i]
        if value is None:
            value = self._values[i] = self._value(i)
        return value


@dataclass(frozen=True, slots=True)
class Line:
    """Straight between points; the last slope goes on."""

    xs: tuple[float, ...]
    ys: Sequence[float]
    pieces: dict[int, tuple[float, ...]] = field(default_factory=dict, compare=False, repr=False)  # by the point at their end
    known: dict[float, float] = field(default_factory=dict, compare=False, repr=False)  # where it was asked for: counts, which come again

    def at(self, x: float) -> float:
        value = self.known.get(x)
        if value is None:
            i = bisect_right(self.xs, x, 1, len(self.xs) - 1)
            left, width, low, rise = self.pieces.get(i) or self._piece(i)
            value = self.known[x] = low + rise * (x - left) / width
        return value

    def _piece(self, i: int) -> tuple[float, ...]:
        xs, ys = self.xs, self.ys
        return self.pieces.setdefault(i, (xs[i - 1], xs[i] - xs[i - 1], ys[i - 1], ys[i] - ys[i - 1]))


@dataclass(frozen=True, slots=True)
class Grid:
    """Straight in both directions between the points of a grid."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    rows: Sequence[Sequence[float]]  # rows[i][j] is at (xs[i], ys[j])
    lines: dict[float, dict[int, tuple[float, float, float]]] = field(default_factory=dict, compare=False, repr=False)  # over y, by x

    def at(self, x: float, y: float) -> float:
        line = self.lines.get(x)
        if line is None:
            line = self.lines[x] = {}
        j = bisect_right(self.ys, y, 1, len(self.ys) - 1)
        top, low, slope = line.get(j) or self._piece(x, j)
        return low + slope * (y - top)

    def _piece(self, x: float, j: int) -> tuple[float, float, float]:
        """The line over y at x, between the points before and at `j`: its beginning, its value there, its slope."""
        xs, ys = self.xs, self.ys
        i = bisect_right(xs, x, 1, len(xs) - 1)
        u, before, after = (x - xs[i - 1]) / (xs[i] - xs[i - 1]), self.rows[i - 1], self.rows[i]
        low, high = ((1 - u) * before[k] + u * after[k] for k in (j - 1, j))
        return self.lines[x].setdefault(j, (ys[j - 1], low, (high - low) / (ys[j] - ys[j - 1])))


@dataclass(frozen=True, slots=True)
class StepTable:
    """Seconds of a step by its parts."""

    start: float  # the launch of the whole step, and what the engine's host adds to it
    dense: Line  # over tokens
    head: Line  # over sequences that get a token
    decode: Grid  # batch by context
    chunk: Grid  # tokens of a chunk by tokens before it
    floor: float  # of attention over a chunk: what a second chunk in the same step does not pay again
    basis: str = "bound"
    factor: float = 1.0  # on all of it: what a step takes over what is predicted
    known: dict[tuple[int, int], float] = field(default_factory=dict, compare=False, repr=False)  # dense and head, by tokens and rows
    reads: float = 1.0  # of the decoding sequences' cache beside a prompt's chunk, where one kernel does both without grouping heads
    kept: float = 0.0  # cached tokens, of one head in one layer, that outlast the other reads in the last cache before memory

    def seconds(self, batch: int, contexts: float, chunks: Chunks = (), ends: int = 0, each: int = 1) -> float:
        """`batch` sequences, `each` with so many new tokens, over `contexts` cached ones in all; `ends` of the chunks finish a prompt."""
        tokens, attention = batch * each, 0.0
        if chunks:
            floor = self.floor
            for count, past in chunks:
                tokens += count
                seconds = self.chunk.at(count, past) if count <= CHUNKS[-1] else self._long(count, past)
                if seconds > floor:
                    attention += seconds - floor
            attention += floor
        if batch:
            decoding = self.decode.at(batch, contexts / batch)
            if chunks and contexts > self.kept:
                decoding *= 1.0 + (self.reads - 1.0) * (1.0 - self.kept / contexts)
            attention += decoding
        rows = batch * each + ends
        rest = self.known.get((tokens, rows))
        if rest is None:
            rest = self.known[tokens, rows] = self.dense.at(tokens) + self.head.at(max(rows, 1))
        return self.factor * (self.start + rest + attention)

    def _long(self, count: int, past: int) -> float:
        """Attention over a chunk beyond the grid, where it grows with the square: over pieces of it, one after the other, in one kernel."""
        starts = range(0, count, CHUNKS[-1])
        pieces = [self.chunk.at(min(CHUNKS[-1], count - begin), past + begin) for begin in starts]
        return self.floor + sum(max(0.0, seconds - self.floor) for seconds in pieces)


def step_table(
    build: Build, layers: int, hardware: Hardware, plan: Plan, *, reduce: Reduce | None = None, width: float = 0.0, overhead: float = 0.0,
    coarse: bool = False, counts: tuple[int, ...] = (), reductions: float = 0.0,
) -> StepTable:  # fmt: skip
    """`reduce`, under tensor parallelism: how long the devices take to add up what each has; `width`: bytes of one token's activations.

    `coarse`: fewer points over tokens. `counts`: `build` makes one layer of each kind, and the model has so many of them; without
    them, all layers are alike. `reductions`: all-reduces of a step (default: two for each layer).
    """
    counts = counts or ((1, layers - 2, 1) if layers >= SHALLOW else (1,) * layers)
    few = len(counts)
    grid = FEW_TOKENS if coarse else TOKENS

    def ran(batch: int, context: int, chunk: int, past: int) -> Costs:
        return device_costs(build(batch, context, chunk, past, few), hardware, plan)

    def whole_step(tokens: int) -> Graph:
        return _deepened(build(0, 0, tokens, 0, few), counts)

    def products(tokens: int) -> float:
        summed = (reductions or 2.0 * layers) * reduce(tokens * width) if reduce else 0.0
        return _part(device_costs(whole_step(tokens), hardware, plan), each, _is_dense) + summed

    gap = hardware.model(plan)
    each = gap.graph_gap if gap and plan.replayed else 0.0
    dense = Points(len(grid), lambda i: products(grid[i]))
    head = Points(len(ROWS), lambda i: _part(ran(ROWS[i], 1, 0, 0), each, _is_head))
    decode = _grid(BATCHES, CONTEXTS, lambda b, c: _part(ran(b, c, 0, 0), each, _is_decode, counts))
    chunk = _grid(CHUNKS, PASTS, lambda n, p: _part(ran(0, 0, n, p), each, _is_chunk, counts))
    least = whole_step(grid[0])
    start = float(predict(least, hardware, plan).seconds) - _part(device_costs(least, hardware, plan), each, lambda name: True)
    return StepTable(
        start + overhead, Line(_axis(grid), dense), Line(_axis(ROWS), head), decode, chunk, chunk.rows[0][0], hardware.basis(plan)
    )


def _grid(xs: Sequence[int], ys: Sequence[int], value: Callable[[int, int], float]) -> Grid:
    def row(x: int) -> Points:
        return Points(len(ys), lambda j: value(x, ys[j]))

    return Grid(_axis(xs), _axis(ys), tuple(row(x) for x in xs))


def _deepened(graph: Graph, counts: tuple[int, ...]) -> Graph:
    """All layers of a model, from a graph with one of each kind: its ops as often as there are such layers."""
    if max(counts) == 1:
        return graph
    ops: list[Op] = []
    for layer, group in groupby(graph.ops, lambda op: _layer(op.name)):
        ops += tuple(group) * (1 if layer is None else counts[layer])
    return replace(graph, ops=tuple(ops))


def _layer(name: str) -> int | None:
    head, _, rest = name.partition(".")
    return int(rest.partition(".")[0]) if head == "layers" else None


def _axis(points: Iterable[int]) -> tuple[float, ...]:
    return tuple(map(float, points))


def _part(costs: Costs, gap: float, belongs: Callable[[str], bool], counts: tuple[int, ...] = ()) -> float:
    """Seconds of some ops; with `counts`, as often as there are such layers. An op that comes again takes what it took."""
    total = 0.0
    known: dict[tuple[int, int], Number] = {}
    for op, cost in zip(costs[0].ops, costs[1], strict=True):
        key = id(op), id(cost)
        seconds = known.get(key)
        if seconds is None:
            layer = _layer(op.name) if counts else None
            times = 1 if layer is None else counts[layer]
            seconds = known[key] = (cost.device + gap * cost.kernels) * times if belongs(op.name) else 0.0
        total += seconds
    return float(total)


def _is_head(name: str) -> bool:
    return name == "lm_head"


def _is_decode(name: str) -> bool:
    return name.endswith(".decode")  # a second one of a block: ".2.decode"


def _is_chunk(name: str) -> bool:
    return name.endswith(".chunk")


def _is_dense(name: str) -> bool:
    return not (_is_head(name) or _is_decode(name) or _is_chunk(name))
