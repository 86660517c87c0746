"""The parts that the wide sweep of a GPU comes in, the most important first. Nothing is run here: a list for help costs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from ironlaw.errors import BadValue
from ironlaw.measure.devices.kernel_events import WARMUP
from ironlaw.measure.suites.cuda.cases import (
    attention,
    backward,
    by_default,
    conv_kinds,
    convolution,
    corpus,
    generated,
    moe,
    movement,
    norms,
    pointwise,
    products,
    quantised,
    recurrent,
    rowwise,
    seldom,
    single_calls,
    solvers,
    training,
    writes,
)
from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

Cases = Callable[[], Iterator[OpSpec]]


@dataclass(frozen=True)
class SweepPart:
    """Some cases, how many share a session of the profiler, and how long they may take when no time was given."""

    cases: tuple[Cases, ...]
    seconds: float
    chunk: int
    warmup: int = WARMUP

    def specs(self) -> Iterator[OpSpec]:
        """Every op and its params, in order."""
        return chain.from_iterable(cases() for cases in self.cases)


OPS = (
    convolution.convolutions, products.linears, norms.of_images, pointwise.pointwise, attention.of_models, rowwise.rowwise,
    pointwise.broadcasts, movement.lookups, movement.movement, movement.choices, products.batched,
)  # fmt: skip
MORE = (convolution.depthwise, movement.shifted, backward.layers, attention.many_sizes)
NORMS = (
    norms.wide_and_grouped, backward.batch_norms, convolution.grouped, norms.average_pools, backward.max_pools,
    backward.sums_and_lookups, attention.unfused,
)  # fmt: skip
GENERATED = (attention.masked, norms.of_a_unet, generated.elementwise, generated.by_rows, generated.affine)
PARTS = {
    "ops": SweepPart(OPS, 330.0, 96),
    "more": SweepPart(MORE, 240.0, 64),
    "norms": SweepPart(NORMS, 120.0, 32),
    "generated": SweepPart(GENERATED, 240.0, 1, warmup=4),
    "recurrent": SweepPart((recurrent.layers, quantised.stored_weights), 120.0, 16),
    "narrow": SweepPart((products.narrow,), 120.0, 96),
    "experts": SweepPart((moe.experts,), 60.0, 16),
    "large": SweepPart((products.large_batched, rowwise.softmaxes), 150.0, 16),
    "kinds": SweepPart((conv_kinds.kinds, conv_kinds.turned, conv_kinds.in_tf32), 240.0, 32),
    "defaults": SweepPart((by_default.products, by_default.rows, by_default.attention, by_default.elements), 120.0, 64),
    "writes": SweepPart((writes.writes, writes.resizes, writes.joins), 60.0, 32),
    "groups": SweepPart((generated.group_norms,), 150.0, 1, warmup=4),
    "corpus": SweepPart((corpus.half, corpus.single), 360.0, 32),
    "seldom": SweepPart((seldom.elements, seldom.moved, seldom.along_rows, seldom.films, seldom.wide, seldom.corners), 120.0, 32),
    "training": SweepPart((training.by_channel, training.gradients, training.compiled), 120.0, 32),
    "calls": SweepPart((solvers.decompositions, single_calls.called), 120.0, 16),
}
FIRST = "ops"  # the part that launch rows go with


def named(text: str) -> tuple[str, ...]:
    """`"norms,ops"` -> the parts of those names."""
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise BadValue(f"no part {unknown[0]!r} of the sweep; choose from {', '.join(PARTS)}")
    return names
