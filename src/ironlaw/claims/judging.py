"""A claim and its verdict, which is computed: from every row of evidence that measures the quantity, else from the engine alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ironlaw.claims import premises
from ironlaw.claims.expressions import figure
from ironlaw.claims.provenance import MEASUREMENTS, Origin, kind, read_from
from ironlaw.claims.reading import Reading, readings
from ironlaw.claims.source import Source
from ironlaw.claims.words import describe, prefix_said, recorded, shown, slot_text
from ironlaw.errors import BadRegistry
from ironlaw.slots import SLOT, fill
from ironlaw.units import significant

FINE = 0.005  # a claim this exact is compared digit by digit
MOST = 6  # digits of a figure that is claimed exactly
HOLDS, REFUTED, DEPENDS = VERDICTS = ("holds", "refuted", "depends")
# how the claimed value is meant: near it, no less, no more, or from `value` up to `upto`
RELATIONS = ("about", "at least", "at most", "between")
# units that a claim may have besides those of `ironlaw.units`
PLAIN_UNITS = (
    "%", "×", "orders of magnitude", "kernels", "parameters", "calls", "devices", "requests", "FLOP/element", "N", "segments",
    "perplexity", "Wh", "points", "models", "ε",
)  # fmt: skip
MOST_FILES = 3  # that are named one by one
COMPUTED_ONLY = "We have computed this but not measured it."


@dataclass(frozen=True, slots=True)
class Measured:
    """What evidence says. `value` is one reading, the one to quote; `low` to `high` are all. `differs`: why they judge nothing."""

    unit: str
    readings: tuple[Reading, ...]
    quoted: Reading
    differs: str = ""

    @property
    def value(self) -> float:
        return self.quoted.value

    @property
    def kind(self) -> str:
        """What the quoted figure is, of `provenance.COLUMNS`."""
        return self.quoted.kind

    @property
    def low(self) -> float:
        return min(reading.value for reading in self.readings)

    @property
    def high(self) -> float:
        return max(reading.value for reading in self.readings)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted({name for reading in self.readings for name in reading.files}))

    @property
    def source(self) -> str:
        """Where from, how many, and which one is quoted."""
        count, files = len(self.readings), ", ".join(self.files)
        if len(self.files) > MOST_FILES:
            files = f"{len(self.files)} files of {' and '.join(sorted({name.partition('/')[0] for name in self.files}))}"
        if count == 1:
            return ", ".join(filter(None, (f"{files}: one reading", describe(self.quoted, self.quoted.premises))))
        low, high = shown(self.low, self.unit), shown(self.high, self.unit)
        spread = low if low == high else f"{low} to {high}"
        differing = [key for key in self.quoted.premises if len({reading.get(key) for reading in self.readings}) > 1]
        this = describe(self.quoted, differing) or " and ".join(self.quoted.files)
        return f"{files}: {count} readings, {spread}; this one: {this}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on: `measured` readings, or figures that are only `computed`."""

    verdict: str
    measured: bool
    readings: tuple[Reading, ...]
    held: int  # readings that agree with the claim
    premise: premises.Premise | None = None
    read: bool = False  # not computed, but read from a table

    @property
    def sentence(self) -> str:
        """The premise in words, and how many rows were counted."""
        count = len(self.readings)
        if self.premise:
            held = f"{self.held} of {count} {'readings' if self.measured else 'cases'}"
            return self.premise.sentence(count, held if self.measured or self.read else f"{held}, all computed")
        if not self.measured:
            return "" if self.read else COMPUTED_ONLY
        same = [key for key in self.readings[0].premises if len({reading.get(key) for reading in self.readings}) == 1]
        every = "The one reading agrees" if self.held else "The one reading disagrees"
        if count == 2:
            every = "Both readings agree" if self.held else "Neither of the two readings agrees"
        elif count > 2:
            every = f"All {count} readings agree" if self.held else f"None of the {count} readings agrees"
        shared = describe(self.readings[0], same)
        return f"{every}{f' ({shared})' if shared else ''}."


@dataclass(frozen=True, eq=False, slots=True)
class Claim:
    """One claim. `value` is what is claimed and `computed` what the engine says, both in `unit`.

    `expected` and `on` are the verdict and the premise that `reason` was written for: where the computed ones differ, `check` reports it.
    """

    id: str
    says: str
    value: float
    unit: str
    who: str
    source: str
    date: str
    expression: str
    tolerance: float  # relative: how near counts as holding
    expected: str  # holds | refuted | depends
    reason: str  # why, with slots
    relation: str = "about"
    upto: float | None = None  # the upper end where the relation is "between"
    on: tuple[str, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = ()  # premises that the expression is computed under, the first one for `computed`
    sources: tuple[Source, ...] = ()
    at: Mapping[str, Any] = field(default_factory=dict)  # the premises of the reading to quote
    slots: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name -> expression, unit
    facts: tuple[str, ...] = ()  # what `reason` says in words, as expressions that must be true
    file: str = ""

    @property
    def where(self) -> str:
        return f"{self.file} [{self.id}]"

    @property
    def computed(self) -> float:
        """The engine's figure, from the registries as they are now; inf stands for "never"."""
        return figure(self.expression, self.where, self.cases[0] if self.cases else {})

    @property
    def origin(self) -> Origin | None:
        """Where `computed` is read, if the engine does not compute it."""
        return read_from(self.expression)

    @property
    def is_of_a_draft(self) -> bool:
        """Whether only a draft of the labs said so: such claims are errata, and no lab shows them."""
        return "draft" in self.who or "draft" in self.source

    @property
    def is_measured(self) -> bool:
        """Whether something was measured or counted of the same case. Known without a look at the rows."""
        kinds = [kind(source) for source in self.sources if not source.differs] or [self.origin.kind if self.origin else ""]
        return any(each in MEASUREMENTS for each in kinds)

    @property
    def holds(self) -> bool:
        """Whether the engine's figure is within the tolerance of what is claimed."""
        return self.within(self.computed)

    def within(self, figure: float, relation: str = "") -> bool:
        """Whether a figure agrees with the claim; a measured one, say."""
        relation = relation or self.relation
        low = self.value - self.tolerance * abs(self.value)
        top = self.value if self.upto is None else self.upto
        high = top + self.tolerance * abs(top)
        return (relation == "at most" or figure >= low) and (relation == "at least" or figure <= high)

    def agrees(self, reading: Reading) -> bool:
        return self.within(reading.value, reading.relation)

    @property
    def judgement(self) -> Judgement:
        """Rows judge where they measure the quantity; a model's figure is not evidence, and stands beside them."""
        measured = [reading for source in self.sources if not source.differs for reading in readings(source)]
        figures = measured or [Reading(figure(self.expression, self.where, case), case, ()) for case in self.cases or ({},)]
        judged = [(reading, self.agrees(reading)) for reading in figures]
        held = sum(holds for _, holds in judged)
        verdict = HOLDS if held == len(judged) else DEPENDS if held else REFUTED
        premise = (_measured_premise(tuple(judged)) if measured else premises.find(judged)) if verdict == DEPENDS else None
        return Judgement(verdict, bool(measured), tuple(figures), held, premise, bool(self.origin))

    @property
    def verdict(self) -> str:
        return self.judgement.verdict

    @property
    def measured(self) -> Measured | None:
        """The readings that judge the claim; else those that only stand beside it, with what differs."""
        for differs in (False, True):
            sources = [source for source in self.sources if bool(source.differs) == differs]
            every = tuple(reading for source in sources for reading in readings(source))
            if every:
                return Measured(self.unit, every, self._quoted(every), sources[0].differs)
        return None

    def _quoted(self, every: Sequence[Reading]) -> Reading:
        chosen = [reading for reading in every if all(recorded(reading, key) == value for key, value in self.at.items())]
        if not chosen:
            raise BadRegistry(f"{self.where}: `at` picks none of {len(every)} readings; give premises that one of them has")
        return sorted(chosen, key=lambda reading: reading.value)[(len(chosen) - 1) // 2]

    @property
    def evidence(self) -> tuple[str, ...]:
        """The files that the readings come from, each with their number."""
        every = [name for source in self.sources for reading in readings(source) for name in reading.files]
        return tuple(f"{name}: {every.count(name)} reading{'s' if every.count(name) > 1 else ''}" for name in sorted(set(every)))

    @property
    def why(self) -> str:
        """The mechanism behind the verdict, its figures filled in."""
        own = {name: slot_text(expression, unit, f"{self.where} slots.{name}") for name, (expression, unit) in self.slots.items()}
        used = set(SLOT.findall(self.reason)) - own.keys()
        return fill(self.reason, own | {name: text for name, text in self._given(used).items() if name in used}, f"{self.where} why")

    def _given(self, used: set[str]) -> dict[str, str]:
        """Slots that every claim has."""
        given = {"claimed": self.claimed, "computed": self.model} if used else {}
        if self.measured and used & {"low", "high", "quoted", "count"}:
            figures = {"low": self.measured.low, "high": self.measured.high, "quoted": self.measured.value}
            given |= {name: self.figure(figure) for name, figure in figures.items()} | {"count": str(len(self.measured.readings))}
        return given

    @property
    def claimed(self) -> str:
        """The claimed figure to read: `at least 60×`, `5 µs to 20 µs`."""
        if self.upto is not None:
            return f"{self.figure(self.value, MOST)} to {self.figure(self.upto, MOST)}"
        figure = self.figure(self.value, MOST)
        return figure if self.relation == "about" else f"{self.relation} {figure}"

    @property
    def model(self) -> str:
        """The engine's figure to read: three digits, as many as an exact claim has that it agrees with, or as it takes to differ."""
        figure, digits = self.computed, 3
        holds = self.within(figure)
        if self.relation == "about" and holds and self.tolerance < FINE:
            digits = min(MOST, max(digits, len(significant(self.value, MOST).replace(",", "").replace(".", "").strip("0"))))
        while digits < MOST and not holds and self.figure(figure, digits) == self.figure(self.value, digits):
            digits += 1
        return self.figure(figure, digits)

    def figure(self, value: float, digits: int = 3) -> str:
        """A figure beside the claim's: with the prefix that the claim itself uses, so that 1,979 TFLOP/s is not 1.979 PFLOP/s."""
        return shown(value, self.unit, digits, prefix_said(self.says, self.unit))


@cache
def _measured_premise(judged: tuple[tuple[Reading, bool], ...]) -> premises.Premise:
    """Sought once: every lab that shows the claim asks for it each time it opens, and the rows stay."""
    return premises.find(judged)
