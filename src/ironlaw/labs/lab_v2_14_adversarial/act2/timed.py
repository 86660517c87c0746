"""A training step against an attack, as timed on an H200: ResNet-18 on 32 × 32 images."""

from __future__ import annotations

from functools import cache

from ironlaw.registry import evidence

FILE = "h200_sxm/attack_steps"


@cache
def seconds(steps: int, batch: int = 1024, mode: str = "compiled") -> float:
    """The time of one step in a stream of them."""
    rows = evidence.file(FILE).rows
    (row,) = (r for r in rows if (r.get("steps"), r.get("batch"), r.get("mode")) == (steps, batch, mode))
    return float(row.piped_s or 0.0)


def ratio(steps: int, batch: int = 1024, mode: str = "compiled") -> float:
    """Over a plain step."""
    return seconds(steps, batch, mode) / seconds(0, batch, mode)


def ratios(steps: int) -> tuple[float, float]:
    """The lowest and the highest of all that were timed."""
    every = [ratio(steps, batch, mode) for batch in (128, 1024) for mode in ("eager", "compiled")]
    return min(every), max(every)
