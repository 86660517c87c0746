"""Act I's dials -> what each algorithm takes, and where two of them cross."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.engine.cluster.collectives import BEST, POWERS_OF_TWO, Terms, bus_bandwidth, crossover, time
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import Wires
from ironlaw.systems.fields import among, figure, times

KIND = "all_reduce"
NAMES = {
    "ring": "ring", "binomial": "binomial tree", "double_tree": "double tree", "recursive_doubling": "recursive doubling",
    "rabenseifner": "Rabenseifner", "two_level": "two levels", "in_network": "sums in the switch", "star": "star",
}  # fmt: skip
PLAIN = tuple(name for name in NAMES if name != "in_network")  # what runs on any wires
TWO, ALL = "two", "all"
LINES = {TWO: "these two", ALL: "all"}
FIXED, FREE = "fixed", "free"
PIECES = {BEST: "the best for each size", FIXED: "of one size", FREE: "as if they cost nothing"}
SMALLEST, LARGEST = 1e3, 16e9  # bytes of a message


@dataclass(frozen=True)
class Setting:
    wires: Wires
    size: float = figure(1, "Message", "MB", low=SMALLEST / 1e6, high=LARGEST / 1e6, dial="span", log=True, means=times(1e6))
    first: str = among(NAMES, "ring", "Algorithm", dial="select")
    second: str = among(NAMES, "binomial", "Compare with", dial="select")
    lines: str = among(LINES, TWO, "Show")
    pieces: str = among(PIECES, BEST, "Chunks of the double tree")
    chunk: float = figure(256, "Chunk size", "KB", low=4, high=16_000, dial="span", log=True, means=times(1e3))

    def why_not(self, name: str) -> str:
        """Why an algorithm can't run on these ranks; empty where it can."""
        n, per_node = self.wires.ranks, self.wires.per_node
        if name in POWERS_OF_TWO and n & (n - 1):
            return f"needs a power of two, not {n:,} ranks"
        return f"{n:,} ranks do not fill nodes of {per_node}" if name == "two_level" and n % per_node else ""

    @property
    def able(self) -> tuple[str, ...]:
        """Algorithms that run here; sums in the switch only where they are asked for."""
        return tuple(name for name in NAMES if (name in PLAIN or name in (self.first, self.second)) and not self.why_not(name))

    @property
    def shown(self) -> tuple[str, ...]:
        return self.able if self.lines == ALL else tuple(dict.fromkeys((self.first, self.second)))

    @property
    def further(self) -> dict[str, Any]:
        w, chunk = self.wires, {BEST: BEST, FIXED: self.chunk, FREE: None}[self.pieces]
        return {"per_node": w.per_node, "beta_inner": w.beta_inner or w.beta, "alpha_inner": w.alpha_inner or w.alpha, "chunk": chunk}

    def terms(self, name: str, size: float | None = None) -> Terms:
        message = self.size if size is None else size
        return time(KIND, name, self.wires.ranks, message, self.wires.alpha, self.wires.beta, **self.further)

    def seconds(self, name: str, size: float | None = None) -> float:
        return float(self.terms(name, size).total)

    def bus(self, name: str, size: float | None = None) -> float:
        message = self.size if size is None else size
        return float(bus_bandwidth(KIND, self.wires.ranks, message, self.seconds(name, message)))

    def winner(self, size: float) -> str:
        return min(self.shown, key=lambda name: self.seconds(name, size))

    @property
    def crossing(self) -> tuple[float, str] | None:
        """(message, the algorithm that wins from there on) of the two; None where one always wins."""
        return _crossing(replace(self, size=0.0, lines=TWO))  # neither changes it


@lru_cache(maxsize=256)
def _crossing(setting: Setting) -> tuple[float, str] | None:
    w = setting.wires
    for a, b in ((setting.first, setting.second), (setting.second, setting.first)):
        at = crossover(a, b, w.ranks, w.alpha, w.beta, KIND, **setting.further)
        if 0 < at < math.inf:
            return at, a
    return None


def setting_of(start: Wires, values: Mapping[str, Any]) -> Setting:
    """The dials as they stand; an algorithm that can't run on these ranks gives way to the ring or the tree."""
    wires = settings.read(Wires, values, alpha_inner=start.alpha_inner, beta_inner=start.beta_inner)
    asked = settings.read(Setting, values, wires=wires)
    first = "ring" if asked.why_not(asked.first) else asked.first
    return replace(asked, first=first, second="binomial" if asked.why_not(asked.second) else asked.second)
