"""What a minute of measuring is spent on: cases of the wide sweep that tell most about what models run, the most telling first.

`scripts/minute_cases.py` puts them into that order and writes minute_cuda.json and minute_cpu.json, which nobody edits by hand.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Spec = tuple[str, dict[str, Any]]  # an op and its params, as a row of evidence holds them


@dataclass(frozen=True)
class ChosenCases:
    """Cases in order. `sds`: after so many of them, how far off operators of models are on average."""

    specs: tuple[Spec, ...]
    sds: Mapping[int, float]

    def left(self, count: int) -> float:
        """How far off operators are after `count` cases."""
        steps = sorted(self.sds)
        return self.sds[steps[max(bisect_right(steps, count) - 1, 0)]]


def written(kind: str) -> Path:
    return Path(__file__).with_name(f"minute_{kind}.json")


@cache
def chosen_cases(kind: str) -> ChosenCases:
    """The list for a kind of device; empty where there is no wide sweep for it."""
    if not written(kind).exists():
        return ChosenCases((), {0: 0.0})
    data = json.loads(written(kind).read_text(encoding="utf-8"))
    placed = [(row[0], group["op"], dict(zip(group["params"], row[1:], strict=True))) for group in data["cases"] for row in group["rows"]]
    specs = tuple((op, params) for _, op, params in sorted(placed, key=lambda one: one[0]))
    return ChosenCases(specs, {int(count): float(sd) for count, sd in data["sds"]})
