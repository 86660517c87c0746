"""The shapes of the corpus that lay farthest from what was measured (`corpus_shapes`, `corpus_shapes_fp32`)."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.measure.suites.cuda.cases import corpus_shapes, corpus_shapes_fp32
from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

Cases = list[tuple[str, tuple[str, ...], list[tuple[int | str, ...]]]]


def half() -> Iterator[OpSpec]:
    yield from specs(corpus_shapes.CASES)


def single() -> Iterator[OpSpec]:
    """The same models in FP32 as PyTorch runs it by default; what they do in FP32 anyway is among the others."""
    before = list(half())
    yield from (spec for spec in specs(corpus_shapes_fp32.CASES) if spec not in before)


def specs(cases: Cases) -> Iterator[OpSpec]:
    """Ops with their params, from a table of figures."""
    for op, names, rows in cases:
        yield from ((op, dict(zip(names, row, strict=True))) for row in rows)
