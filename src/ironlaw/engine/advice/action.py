"""One change of a program, what it gains and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ironlaw.engine.advice.action_names import (
    AGAIN,
    AUTOCAST,
    CHUNKED,
    DEVICES,
    FLASH,
    FUSED,
    KEPT,
    LISTS,
    SCALED,
    SHARDED,
    SYNCS,
    TOGETHER,
)
from ironlaw.engine.advice.gain import Gain
from ironlaw.engine.advice.program import Program
from ironlaw.engine.device.compilation import compile_seconds
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.repeats import kernels_to_compile
from ironlaw.units import show, significant

# the kinds of change and their groups, in the order in which they cost least: nothing to build, nothing to lose; then build time, accuracy,
# your own time
GROUPS = {
    "layout": "layout", "tf32": "format", "fp16": "format", "fp8": "format", "eager_graphs": "launching", "compiled": "launching",
    "graphs": "launching", "int8": "weights", "int4": "weights", "kernel": "kernel", "batch": "batch", SYNCS: "syncs", AUTOCAST: "format",
    SCALED: "format", LISTS: "optimiser", FUSED: "optimiser", KEPT: "checkpoints", TOGETHER: "passes", FLASH: "attention",
    CHUNKED: "loss", AGAIN: "checkpoints", DEVICES: "devices", SHARDED: "devices", "machine": "machine",
}  # fmt: skip
ORDER = list(GROUPS)
SAME = 0.05  # within which two costs are called the same
HOUR, MANY = 3600.0, 1e6  # seconds; calls that a price is said for


@dataclass(frozen=True, slots=True)
class ChangeWords:
    """What people call a change, what they write for it, what it loses in accuracy, and what else it takes; empty where that is nothing."""

    title: str = ""
    how: str = ""
    loses: str = ""
    takes: str = ""


@dataclass(frozen=True)
class Action:
    """A change of the program before it, or several at once. `changes`: of GROUPS. `prices`: dollars per hour before and after.
    `words`: for each change; one without any is called by its id."""

    changes: tuple[str, ...]
    gain: Gain
    program: Program
    before: Prediction
    after: Prediction
    count: int = 0  # how often a fused kernel runs in a call
    per_kernel: float = 0.0  # seconds to compile one
    prices: tuple[float | None, float | None] = (None, None)
    devices: int = 1
    instead: bool = False  # another machine, on top of what stands before more devices of this one
    remark: str = ""  # what else the change takes, where that has figures
    words: Mapping[str, ChangeWords] = field(default_factory=dict, repr=False, compare=False)

    @property
    def groups(self) -> set[str]:
        return {GROUPS[change] for change in self.changes}

    @property
    def frees(self) -> bool:
        """Whether it is done for memory, whatever time it takes."""
        return bool({CHUNKED, AGAIN} & set(self.changes))

    @property
    def place(self) -> int:
        """The place among the kinds of change, those first that cost least."""
        return max(map(ORDER.index, self.changes))

    @property
    def title(self) -> str:
        """`FP16 or BF16`, `a kernel of your own for linear + gelu (×33)`."""
        return " and ".join(map(self._title, self.changes))

    def _title(self, change: str) -> str:
        if change == "kernel":
            return f"a kernel of your own for {' + '.join(self.program.kinds)} (×{self.count})"
        if change == "batch":
            return f"{self.program.times} times the batch"
        if change in (DEVICES, SHARDED):
            return f"{self._words(change).title or change} over {self.devices} × {self.after.hardware.name}"
        if change == "machine":
            return f"{'or one ' if self.instead else ''}{self.after.hardware.name}"
        return self._words(change).title or change

    def _words(self, change: str) -> ChangeWords:
        return self.words.get(change, ChangeWords())

    @property
    def how(self) -> str:
        """What to write; empty where that is more than a line."""
        return "; ".join(filter(None, (self._words(change).how for change in self.changes)))

    @cached_property
    def build_s(self) -> float | None:
        """What compiling should take, once for each shape; None where nothing is compiled."""
        compiled = {"compiled", "graphs"} & set(self.changes)
        return float(compile_seconds(kernels_to_compile(self.after), self.per_kernel)) if compiled and self.per_kernel else None

    @property
    def memory(self) -> tuple[float, float]:
        """Bytes before and after."""
        return float(self.before.memory.total), float(self.after.memory.total)

    @property
    def costs(self) -> tuple[str, ...]:
        """Memory, accuracy, build time, latency, money, your own time: what of these it costs."""
        said = [words.loses for words in map(self._words, self.changes) if words.loses]
        before, after = self.memory if "machine" not in self.changes else (0.0, 0.0)
        if after > 1.05 * before:
            said.append(f"memory {show(after, 'B')} instead of {show(before, 'B')}")
        if self.build_s is not None:
            said.append(f"about {show(self.build_s, 's', 2)} to compile")
        said += [words.takes for words in map(self._words, self.changes) if words.takes]
        calls = [show(float(p.seconds), "s") for p in (self.after, self.before)]
        if "batch" in self.changes and calls[0] != calls[1]:
            said.append(f"a call takes {calls[0]} instead of {calls[1]}")
        said += [self.remark] if self.remark else []
        if {"machine", DEVICES, SHARDED} & set(self.changes):
            said += self._dollars
        if before > 1.05 * after:
            said.append(f"{'but' if said else 'nothing, and'} memory falls from {show(before, 'B')} to {show(after, 'B')}")
        return tuple(said) or ("nothing but the change",)

    @property
    def _dollars(self) -> list[str]:
        before, after = self.prices
        if after is None:
            return ["its price is not in the registry"]
        an_hour = f"${significant(after)} per hour" + (f" instead of ${significant(before)}" if before is not None else "")
        if self.money_ratio is not None:
            return [f"{an_hour}, so the same work costs {_times(self.money_ratio)}", *self._vendors]
        each = f", ${significant(MANY * (self.dollars or 0.0))} for a million such calls"
        return [f"{an_hour}{each}; the price of {self.before.hardware.name} is not known: give it to compare", *self._vendors]

    @property
    def dollars(self) -> float | None:
        """What the work of a call, or of one at the batch before, costs afterwards; None without a price."""
        after = self.prices[1]
        return None if after is None else after / HOUR * self.gain.after

    @property
    def money_ratio(self) -> float | None:
        """What the same work costs, in multiples of what it costs now; None without both prices."""
        before, after = self.prices
        return after / before / self.gain.ratio if after is not None and before else None

    @property
    def _vendors(self) -> list[str]:
        """Another maker's device is another software."""
        makers = [p.hardware.name.split()[0] for p in (self.before, self.after)]
        return [f"from {makers[0]} to {makers[1]}: your kernels and libraries must exist there"] if makers[0] != makers[1] else []

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        ends_of = [end if math.isfinite(end) else None for end in self.gain.interval] if self.gain.interval else None
        return {
            "changes": list(self.changes), "title": self.title, "how": self.how or None, "gain": self.gain.ratio, "interval": ends_of,
            "before_s": self.gain.before, "after_s": self.gain.after, "saved_s": self.gain.saved, "call_s": float(self.after.seconds),
            "per": "item" if "batch" in self.changes else "call", "basis": self.after.basis, "hardware": self.after.hardware.slug,
            "memory": list(self.memory), "build_s": self.build_s, "dollars_per_hour": list(self.prices), "costs": list(self.costs),
        }  # fmt: skip


def _times(ratio: float) -> str:
    return "about as much as now" if abs(ratio - 1.0) < SAME else f"{significant(ratio)} times as much as now"
