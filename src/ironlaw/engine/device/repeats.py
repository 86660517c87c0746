"""What calls the same modules again, a loop or a step's microbatches, is compiled once, however often it runs.

Captured ops are called by their module, their operator and a count ("unet.conv.convolution.7"). A stretch of ops that comes again at
once, op for op, from the same modules on the same shapes, is another turn of a loop; layers that are only alike have other names.
Microbatches differ from the second on, since their gradients are added: what passes share counts as often as one of them runs it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.prediction import OpRow, Prediction

SHORTEST = 4  # ops of a turn; a line that multiplies twice is not a loop
COUNT = re.compile(r"\.\d+(?=…|$)")


def kernels_to_compile(prediction: Prediction) -> Number:
    """The kernels of a compiled prediction, those of a loop's turns counted once, and a solver's, which its library brings, as one call."""
    rows = prediction.ops
    each = [1.0 if row.op.kind == "solver" else row.kernels for row in rows]
    if not prediction.graph.settings.get("captured"):
        return sum(each)
    keys = [_known_by(row) for row in rows]
    passes = max(1, len(prediction.graph.settings.get("backwards", ())))
    once = zip(each, first_turns(keys), in_one_pass(keys, passes), strict=True)
    return sum(count for count, first, new in once if first and new)


def _known_by(row: OpRow) -> Any:
    op = row.op
    return COUNT.sub("", op.name), op.kind, tuple((t.shape, t.dtype) for t in (*op.inputs, *op.outputs))


def first_turns(keys: Sequence[Any]) -> list[bool]:
    """For each op whether it is in the first turn of its loop, or in none."""
    numbers: dict[Any, int] = {}
    keys = [numbers.setdefault(key, len(numbers)) for key in keys]  # long stretches of them are compared
    places: dict[int, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        places[key].append(i)
    nexts = {i: j for each in places.values() for i, j in pairwise(each)}
    once, i = [True] * len(keys), 0
    while i < len(keys):
        length = nexts.get(i, i) - i
        turns = 1
        while length >= SHORTEST and keys[i : i + length] == keys[i + turns * length : i + (turns + 1) * length]:
            turns += 1
        once[i + length : i + turns * length] = [False] * ((turns - 1) * length)
        i += max(1, turns * length) if turns > 1 else 1
    return once


def in_one_pass(keys: Sequence[Any], passes: int) -> list[bool]:
    """For each op whether it is among those of its kind that one pass of so many has."""
    every, seen, kept = Counter(keys), Counter[Any](), []
    for key in keys:
        seen[key] += 1
        kept.append(seen[key] <= ceil(every[key] / passes))
    return kept
