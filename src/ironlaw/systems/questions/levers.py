"""How much each input matters, how much room each limit leaves, and the cheapest single fix."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw import units
from ironlaw.engine import levers
from ironlaw.engine.levers import LEAST, MOST, Fix, Limit
from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.systems.design_file import Design, refuse_tables
from ironlaw.systems.formulas import FUNCTIONS, compiled, evaluate, names
from ironlaw.systems.question import Table

if TYPE_CHECKING:
    from ironlaw.outputs.law_output import DialFix, LeversJson, LimitRow, Readout

TABLES = ("inputs", "formulas", "limits", "dials")
FIRST = {"inputs": 'rate = "2 TB/s"', "formulas": 'seconds = "bytes / rate"'}
CHANGE = 0.1
MOST_STEPS = 400_000  # of arithmetic, all changes of a design together: two tenths of a second
MOST_TEXT = 10_000  # characters of all formulas
PRIVACY_STEPS = 5_000  # what one new ε is worth


@dataclass(frozen=True)
class System:
    """Inputs and the formulas over them, in order."""

    inputs: dict[str, float]
    formulas: dict[str, ast.expr]

    def values(self, inputs: Mapping[str, float]) -> dict[str, float]:
        every = dict(inputs)
        for name, tree in self.formulas.items():
            every[name] = evaluate(name, tree, every)
        return every


@dataclass(frozen=True, repr=False)
class Levers(Design):
    """A system of one's own: inputs, formulas over them, limits, and what may be changed.

    >>> import ironlaw as il
    >>> inputs, formulas = {"bytes": "16 GB", "rate": "2 TB/s"}, {"seconds": "bytes / rate"}
    >>> system = il.levers(inputs, formulas, limits={"seconds": {"most": 0.01}})
    >>> system.met, system.values["seconds"]
    (True, 0.008)
    """

    schema = "ironlaw-levers/1"
    inputs: Mapping[str, Any]
    formulas: Mapping[str, str]
    limits: Any = None
    dials: Any = None

    @classmethod
    def given(cls, tables: Mapping[str, Any]) -> dict[str, Any]:
        refuse_tables(tables, TABLES)
        return {"inputs": None, "formulas": None} | dict(tables)

    @cached_property
    def answer(self) -> LeversJson:
        """Readouts are those with a limit, or all formulas where none has one."""
        system = _system(self.inputs, self.formulas)
        limits = _limits({} if self.limits is None else self.limits, system)
        dials = _dials({} if self.dials is None else self.dials, system)
        readouts = tuple(dict.fromkeys(limit.readout for limit in limits)) or tuple(system.formulas)
        _refuse_too_much(system, len(readouts), len(limits), sum(map(len, dials.values())))
        values = system.values(system.inputs)
        rows = [_limit(limit, limits, system, values, dials) for limit in limits]
        return {
            "values": values, "readouts": [_readout(name, system, values[name]) for name in readouts], "limits": rows,
            "met": all(row["margin"] >= 0 for row in rows), "together": _together(limits, system, dials),
        }  # fmt: skip

    @property
    def met(self) -> bool:
        """Whether every limit holds."""
        return bool(self.answer["met"])

    @property
    def values(self) -> dict[str, float]:
        """The values of inputs and formulas."""
        return dict(self.answer["values"])

    def table(self) -> Table:
        bars = [(one["name"], bar["input"], f"{bar['lever']:+.3g}") for one in self.answer["readouts"] for bar in one["levers"]]
        return Table(f"{'all limits hold' if self.met else 'a limit is broken'}", ("of", "input", "% for one more %"), bars)


def _refuse_too_much(system: System, readouts: int, limits: int, stops: int) -> None:
    """Every input is moved for every readout, and every dial's value is tried for every limit: on paper first."""
    nodes = [node for tree in system.formulas.values() for node in ast.walk(tree)]
    accounts = sum(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "privacy" for node in nodes)
    steps = len(nodes) * (4 * len(system.inputs) * readouts + (2 * limits + 1) * stops) + PRIVACY_STEPS * accounts * (16 + stops)
    if steps > MOST_STEPS:
        raise BadValue(
            f"the design takes about {steps:,} steps to work out, and {MOST_STEPS:,} is the most; "
            "take fewer formulas, inputs, limits or dial values" + (", or call privacy less often" if accounts else ""),
            "formulas",
        )


def _readout(name: str, system: System, value: float) -> Readout:
    def f(inputs: Mapping[str, float]) -> float:
        return system.values(inputs)[name]

    bars = [bar for bar in levers.tornado(f, system.inputs, CHANGE) if bar.lever or bar.reach]
    return {"name": name, "value": value, "levers": [{"input": b.name, "lever": b.lever, "low": b.low, "high": b.high} for b in bars]}


def _limit(limit: Limit, limits: list[Limit], system: System, values: dict[str, float], dials: dict[str, list[float]]) -> LimitRow:
    """`fix` keeps every other limit that holds now; `fix_alone` looks at this one only."""
    margin = limit.margin(values[limit.readout])
    others = [other for other in limits if other.holds(values[other.readout])]
    about: LimitRow = {
        "readout": limit.readout,
        "kind": limit.kind,
        "limit": limit.value,
        "margin": margin,
        "fix": None,
        "fix_alone": None,
    }
    if margin >= 0:
        return about
    alone = levers.cheapest_fix(_holding([limit], system), system.inputs, dials)
    kept = levers.cheapest_fix(_holding([limit, *others], system), system.inputs, dials)
    return {**about, "fix": _fix(kept, system), "fix_alone": _fix(alone, system)}


def _together(limits: list[Limit], system: System, dials: dict[str, list[float]]) -> DialFix | None:
    """The cheapest single change that meets all limits; null if they hold already, or if no single change does."""
    holds = _holding(limits, system)
    return None if holds(system.inputs) else _fix(levers.cheapest_fix(holds, system.inputs, dials), system)


def _holding(limits: list[Limit], system: System) -> Any:
    def holds(inputs: Mapping[str, float]) -> bool:
        try:
            values = system.values(inputs)
        except BadValue:  # a dial's value at which a formula has none is not a fix
            return False
        return all(limit.holds(values[limit.readout]) for limit in limits)

    return holds


def _fix(fix: Fix | None, system: System) -> DialFix | None:
    return None if fix is None else {"dial": fix.dial, "from": system.inputs[fix.dial], "to": fix.value}


def _system(given: Any, texts: Any) -> System:
    inputs = {name: _number(name, value) for name, value in _table(given, "inputs").items()}
    formulas: dict[str, ast.expr] = {}
    if sum(len(text) for text in _table(texts, "formulas").values() if isinstance(text, str)) > MOST_TEXT:
        raise BadValue(f"the formulas have more than {MOST_TEXT:,} characters together; write fewer or shorter ones", "formulas")
    for name, text in _table(texts, "formulas").items():
        tree = compiled(name, text)
        for used in names(tree):
            if used not in inputs and used not in formulas:
                raise unknown(f"input or earlier formula, in {name},", used, [*inputs, *formulas], field=name)
        if name in inputs or name in FUNCTIONS:
            raise BadValue(f"{name} is an input or a function, too; give the formula another name", name)
        formulas[name] = tree
    return System(inputs, formulas)


def _table(table: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(table, Mapping) or not table:
        raise BadValue(f"there is nothing in [{name}]; write a line such as `{FIRST[name]}` there", name)
    return table


def _number(name: str, value: Any) -> float:
    try:
        number = units.parse(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
    except IronlawError as error:
        raise BadValue(f"{name}: {error}", name) from None
    if not 0 < number < math.inf:
        raise BadValue(f"{name} is {value!r}; give a number above 0, or a figure such as '989 TFLOP/s'", name)
    return number


def _limits(table: Any, system: System) -> list[Limit]:
    limits = []
    for name, value in (table if isinstance(table, Mapping) else {"limits": table}).items():
        if name not in system.formulas and name not in system.inputs:
            raise unknown("formula or input to limit", name, [*system.formulas, *system.inputs], field=name)
        if not isinstance(value, Mapping) or not value or set(value) - {MOST, LEAST}:
            raise BadValue(f"the limit of {name} is {value!r}; write {{ most = 25 }} or {{ least = 0.9 }}", name)
        limits += [Limit(name, kind, _number(name, number)) for kind, number in value.items()]
    return limits


def _dials(table: Any, system: System) -> dict[str, list[float]]:
    if not isinstance(table, Mapping):
        raise BadValue(f"[dials] is {table!r}; write a table of lists, such as devices = [512, 1024]", "dials")
    for name, values in table.items():
        if name not in system.inputs:
            raise unknown("input for a dial", name, system.inputs, field=name)
        if not isinstance(values, list) or not values:
            raise BadValue(f"the dial {name} is {values!r}; write a list of its values, such as [512, 1024]", name)
    return {name: [_number(name, value) for value in values] for name, values in table.items()}
