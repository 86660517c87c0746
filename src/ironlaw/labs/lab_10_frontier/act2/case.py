"""Where the dials of Act II stand: a format of Llama 3 8B or a digit classifier, on a device, within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.memory import Memory
from ironlaw.engine.numerics.pareto_2d import Point, dominated_by, frontier
from ironlaw.engine.numerics.shares import trials_needed
from ironlaw.kit import settings
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.reader import DENSE, NETS, Setting, no_kernel
from ironlaw.registry.compression_tables import BITS
from ironlaw.registry.trained_nets import trained
from ironlaw.systems.fields import among, figure, hundredths, one_of, times
from ironlaw.units import significant

LLAMA, DIGITS = "llama", "digits"
BYTES, TIME = "bytes", "time"
ERRORS, KL = "errors", "kl"
KB = 1e3
TINIEST_KL = 1e-7  # the foot of the axis: the full reader's own is 0


@dataclass(frozen=True)
class Case:
    """One configuration and its neighbours. Less is better in `cost` (bytes or seconds) and in `harm`."""

    machine: Hardware
    cost: str = among({BYTES: "file size", TIME: "time"}, BYTES, "Cost (x-axis)")
    harm: str = among({ERRORS: "wrong answers", KL: "divergence"}, ERRORS, "Damage (y-axis)")

    @property
    def is_late(self) -> bool:
        return False

    @property
    def name(self) -> str:
        raise NotImplementedError

    @cached_property
    def points(self) -> tuple[Point, ...]:
        raise NotImplementedError

    @property
    def point(self) -> Point:
        return next(point for point in self.points if point.name == self.name)

    @cached_property
    def best(self) -> tuple[Point, ...]:
        return frontier(self.points)

    @property
    def winner(self) -> Point | None:
        return dominated_by(self.point, self.best)


@dataclass(frozen=True)
class LlamaCase(Case):
    row: str = one_of(llama.rows, "Q4_0", "Format", dial="select", shown=lambda row: f"{row}, {significant(llama.size(row) / 1e9)} GB")
    context: int = among(llama.CONTEXTS, 2048, "Context, in tokens", shown="{:,}")
    kernel: str = among(llama.KERNELS, "format", "Kernel")
    most_ppl: float = figure(7, "Perplexity, at most", low=6, high=30, dial="span", step=0.1, log=True)
    limit_ms: float = figure(100, "Time per token, at most", "ms", low=1, high=400, dial="span", log=True)

    @property
    def name(self) -> str:
        return self.row

    @property
    def limit_s(self) -> float:
        return self.limit_ms / 1e3

    @cached_property
    def points(self) -> tuple[Point, ...]:
        return tuple(self._point(row) for row in llama.rows())

    def _point(self, row: str) -> Point:
        cost = llama.size(row) if self.cost == BYTES else self.seconds(row)
        return Point(row, cost, float(llama.rows()[row]["ppl_rise" if self.harm == ERRORS else "kl"]))

    def seconds(self, row: str = "") -> float:
        return llama.seconds(row or self.row, self.context, self.machine, self.kernel)

    @property
    def footprint(self) -> Memory:
        return llama.footprint(self.row, self.context, self.machine)

    @property
    def plain_s(self) -> float:
        return llama.seconds(llama.PLAIN, self.context, self.machine)

    @property
    def fits(self) -> bool:
        return bool(self.footprint.fits)

    @property
    def is_worse(self) -> bool:
        return llama.perplexity(self.row)[1] > self.most_ppl

    @property
    def is_slower(self) -> bool:
        return self.row != llama.PLAIN and self.seconds() > self.plain_s

    @property
    def is_late(self) -> bool:
        return self.seconds() > self.limit_s

    @property
    def is_unsure(self) -> bool:
        return llama.perplexity(self.row)[2] > self.most_ppl


@dataclass(frozen=True)
class DigitCase(Case):
    setting: Setting = field(default_factory=Setting)
    room: float = figure(64, "Space for the file", "kB", low=1, high=256, dial="span", log=True, whole=True, means=times(KB))
    floor: float = figure(95, "Right answers, at least", "%", low=80, high=99.5, dial="span", step=0.5, means=hundredths)

    @property
    def name(self) -> str:
        return self.setting.name

    @cached_property
    def points(self) -> tuple[Point, ...]:
        return tuple(self._point(one) for one in self.neighbours())

    def neighbours(self) -> list[Setting]:
        """Every reader at every number of bits, with and without the zeros of the dial; each by the chosen kernel where it can be."""
        shares = dict.fromkeys((0, self.setting.share))
        every = [replace(self.setting, net=net, bits=bits, share=share) for net in NETS for bits in (*BITS, 32) for share in shares]
        return [replace(one, product="plain") if one.product in no_kernel(one, self.machine) else one for one in every]

    def _point(self, setting: Setting) -> Point:
        cost = setting.bytes if self.cost == BYTES else float(setting.terms(self.machine).sequential)
        answers = setting.answers
        return Point(setting.name, cost, 100 * (1 - answers.accuracy.value) if self.harm == ERRORS else max(answers.kl, TINIEST_KL))

    def seconds(self) -> float:
        return float(self.setting.terms(self.machine).sequential)

    @property
    def plain_s(self) -> float:
        return float(Setting().terms(self.machine).sequential)

    @property
    def images_needed(self) -> float:
        return trials_needed(self.setting.answers.accuracy.value, self.floor)

    @property
    def fits(self) -> bool:
        return self.setting.bytes <= self.room

    @property
    def is_worse(self) -> bool:
        return self.setting.answers.accuracy.high < self.floor

    @property
    def is_slower(self) -> bool:
        return self.setting != Setting() and self.seconds() > self.plain_s * (1 + 1e-9)

    @property
    def is_unsure(self) -> bool:
        return self.setting.answers.accuracy.low < self.floor


def case_of(machine: Hardware, values: Mapping[str, Any]) -> LlamaCase | DigitCase:
    if values["data"] == LLAMA:
        return settings.read(LlamaCase, values, machine=machine)
    return settings.read(DigitCase, values, machine=machine, setting=setting_of(values))


def setting_of(values: Mapping[str, Any]) -> Setting:
    """The reader of the dials, where they stand yet."""
    turned = {"bits": 8, **{name: value for name, value in values.items() if value is not None}}
    return settings.read(Setting, turned if turned.get("share") else {**turned, "zeros": DENSE})


def tested() -> int:
    return trained("digits").tested
