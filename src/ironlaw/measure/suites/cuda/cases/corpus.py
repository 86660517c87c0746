"""The shapes of the corpus that lay farthest from what was measured, the heaviest first.

The JSON files beside this one hold them: for each op the names of its params once, and a row of figures for each case. benchmarks/corpus
writes them (`--cases`); nobody edits them by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec


def half() -> Iterator[OpSpec]:
    yield from specs("corpus_shapes")


def single() -> Iterator[OpSpec]:
    """The same models in FP32 as PyTorch runs it by default; what they do in FP32 anyway is among the others."""
    before = list(half())
    yield from (spec for spec in specs("corpus_shapes_fp32") if spec not in before)


def specs(name: str) -> Iterator[OpSpec]:
    """Ops with their params, of one file."""
    for case in json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8")):
        yield from ((case["op"], dict(zip(case["params"], row, strict=True))) for row in case["rows"])
