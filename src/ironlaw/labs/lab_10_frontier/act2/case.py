"""Where the dials of Act II stand: a format of Llama-3-8B or a digit reader, on a device, within a budget; and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.numerics.frontier import Point, dominated_by, frontier
from ironlaw.engine.numerics.shares import trials_needed
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.reader import DENSE, NETS, Setting, no_kernel
from ironlaw.registry.compression_tables import BITS
from ironlaw.registry.trained_nets import trained

LLAMA, DIGITS = "llama", "digits"
BYTES, TIME = "bytes", "time"
ERRORS, KL = "errors", "kl"
KB = 1e3
TINIEST_KL = 1e-7  # the foot of the axis: the full reader's own is 0
# verdicts, the gravest first
OOM, FLOOR, SLOWER, LATE, DOMINATED, UNSURE, GOOD = "oom", "floor", "slower", "late", "dominated", "unsure", "good"
TONES = {OOM: "fail", FLOOR: "fail", SLOWER: "fail", LATE: "fail", DOMINATED: "warn", UNSURE: "warn", GOOD: "good"}


@dataclass(frozen=True)
class Case:
    """One configuration and its neighbours. Less is better in `cost` (bytes or seconds) and in `harm`."""

    machine: Hardware
    cost: str
    harm: str

    name: str = ""

    # what a subclass answers
    points: tuple[Point, ...] = ()

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
    context: int = 2048
    kernel: str = "format"
    most_ppl: float = 7.0
    limit_s: float = 0.1

    @classmethod
    def of(cls, machine: Hardware, values: Mapping[str, Any]) -> LlamaCase:
        case = cls(
            machine, values["cost"], values["harm"], str(values["row"]), (), int(values["context"]), values["kernel"],
            float(values["most_ppl"]), float(values["limit_ms"]) / 1e3,
        )  # fmt: skip
        return replace(case, points=tuple(case._point(row) for row in llama.rows()))

    def _point(self, row: str) -> Point:
        cost = llama.size(row) if self.cost == BYTES else self.seconds(row)
        return Point(row, cost, float(llama.rows()[row]["ppl_rise" if self.harm == ERRORS else "kl"]))

    def seconds(self, row: str = "") -> float:
        return llama.seconds(row or self.name, self.context, self.machine, self.kernel)

    @property
    def footprint(self) -> Any:
        return llama.footprint(self.name, self.context, self.machine)

    @property
    def plain_s(self) -> float:
        return llama.seconds(llama.PLAIN, self.context, self.machine)

    @property
    def verdict(self) -> str:
        _, low, high = llama.perplexity(self.name)
        if not self.footprint.fits:
            return OOM
        if low > self.most_ppl:
            return FLOOR
        if self.name != llama.PLAIN and self.seconds() > self.plain_s:
            return SLOWER
        if self.seconds() > self.limit_s:
            return LATE
        if self.winner:
            return DOMINATED
        return UNSURE if high > self.most_ppl else GOOD


@dataclass(frozen=True)
class DigitCase(Case):
    setting: Setting = field(default_factory=Setting)
    room: float = 64 * KB
    floor: float = 0.95

    @classmethod
    def of(cls, machine: Hardware, values: Mapping[str, Any]) -> DigitCase:
        share = int(values["share"])
        setting = Setting(
            values["net"], int(values["bits"]), values["scale"], share, values["zeros"] if share else DENSE, values["product"]
        )
        case = cls(
            machine, values["cost"], values["harm"], setting.name, (), setting, float(values["room"]) * KB, float(values["floor"]) / 100
        )
        return replace(case, points=tuple(case._point(one) for one in case.neighbours()))

    def neighbours(self) -> list[Setting]:
        """Every reader at every number of bits, with and without the zeros of the dial; each by the chosen kernel where it can be."""
        shares = dict.fromkeys((0, self.setting.share))
        every = [replace(self.setting, net=net, bits=bits, share=share) for net in NETS for bits in (*BITS, 32) for share in shares]
        return [replace(one, kernel="plain") if one.kernel in no_kernel(one, self.machine) else one for one in every]

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
    def verdict(self) -> str:
        share = self.setting.answers.accuracy
        if self.setting.bytes > self.room:
            return OOM
        if share.high < self.floor:
            return FLOOR
        if self.setting != Setting() and self.seconds() > self.plain_s * (1 + 1e-9):
            return SLOWER
        if self.winner:
            return DOMINATED
        return UNSURE if share.low < self.floor else GOOD


def case_of(machine: Hardware, values: Mapping[str, Any]) -> LlamaCase | DigitCase:
    return LlamaCase.of(machine, values) if values["data"] == LLAMA else DigitCase.of(machine, values)


def tested() -> int:
    return trained("digits").tested
