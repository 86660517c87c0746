"""What is commonly claimed, who says so, how the engine computes it, and what was measured.

A claim is a table in one of the TOML files beside this one; the grammar stands at the head of each. Its `expression` is
Python over `NAMESPACE` below and nothing else: no builtins, no names or attributes with a leading underscore.
`measured.expression` is the same with `row` on top, which picks one row of the evidence.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.engine.device.chains import chain as engine_chain
from ironlaw.engine.device.compilation import breakeven, breakeven_days, devices_needed, saving
from ironlaw.engine.device.dispatch import graph_replay, queued, synchronous, utilization
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.iron_law import iron_law
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.memory import footprint, live_activations
from ironlaw.engine.device.memory import kv_cache as kv_bytes
from ironlaw.engine.device.predict import one_launch, predict
from ironlaw.engine.device.roofline import gemm_intensity, mfu, roofline
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry.evidence import evidence
from ironlaw.registry.loader import folder, read
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.textbooks import textbook
from ironlaw.registry.workloads import kv_cache, workload
from ironlaw.units import UNITS, show, significant

FINE = 0.005  # a claim this exact is compared digit by digit
MOST = 6  # digits of a figure that is claimed exactly
VERDICTS = ("holds", "refuted", "depends")
# how the claimed value is meant: near it, no less, no more, or from `value` up to `upto`
RELATIONS = ("about", "at least", "at most", "between")
# units that a claim may have besides those of `ironlaw.units`
PLAIN_UNITS = ("%", "×", "orders of magnitude", "kernels", "parameters", "calls", "devices", "FLOP/element", "N")


def chain(*kinds: str, shape: tuple[float, float] = (1024, 768), dtype: str = "fp16") -> Graph:
    """Ops in a row, all of one shape: `chain("layer_norm", "dropout", "relu")`."""
    return engine_chain(kinds, shape, dtype)


def attention(seq: float, head_dim: float, impl: str = "flash", *, batch: float = 4, heads: float = 32, dtype: str = "fp16") -> Graph:
    """One attention op over `seq` queries and keys; impl is "flash" (tiled) or "naive" (the scores go through memory)."""
    q, k, v = (Tensor(name, (batch, heads, seq, head_dim), dtype, "input") for name in "qkv")
    return Graph("attention", (op("attention", "attention", (q, k, v), (replace(q, name="out", role="activation"),), impl=impl),), dtype)


NAMESPACE: dict[str, Any] = {
    # registries
    "hardware": hardware, "machines": machines, "workload": workload, "kv_cache": kv_cache, "textbook": textbook,
    # the laws
    "iron_law": iron_law, "roofline": roofline, "mfu": mfu, "gemm_intensity": gemm_intensity, "utilization": utilization,
    "synchronous": synchronous, "queued": queued, "graph_replay": graph_replay, "breakeven": breakeven,
    "breakeven_days": breakeven_days, "saving": saving, "devices_needed": devices_needed, "kv_bytes": kv_bytes,
    "footprint": footprint, "live_activations": live_activations,
    # graphs
    "Graph": Graph, "Tensor": Tensor, "op": op, "chain": chain, "attention": attention, "fuse": fuse, "decide": decide,
    "one_launch": one_launch, "predict": predict, "Plan": Plan, "replace": replace,
    # arithmetic
    "abs": abs, "min": min, "max": max, "round": round, "sum": sum, "len": len, "ceil": math.ceil, "log10": math.log10,
    "sqrt": math.sqrt, "inf": math.inf,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """What evidence says about a claim; `value` is computed from the evidence's rows."""

    unit: str
    source: str  # the evidence file and the rows, in words
    expression: str
    where: str = ""

    @property
    def value(self) -> float:
        return _evaluate(self.expression, f"{self.where} measured", {"row": row})


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `value` is what is claimed and `computed` what the engine says, both in `unit`."""

    id: str
    says: str
    value: float
    unit: str
    who: str
    source: str
    date: str
    expression: str
    tolerance: float  # relative: how near counts as holding
    verdict: str  # holds | refuted | depends
    why: str
    evidence: tuple[str, ...] = ()
    measured: Measured | None = None
    relation: str = "about"
    upto: float | None = None  # the upper end where the relation is "between"
    file: str = ""

    @property
    def computed(self) -> float:
        """The engine's figure, from the registries as they are now; inf stands for "never"."""
        return _evaluate(self.expression, f"{self.file} [{self.id}]")

    @property
    def holds(self) -> bool:
        """Whether the engine's figure is within the tolerance of what is claimed."""
        return self.within(self.computed)

    def within(self, figure: float) -> bool:
        """Whether a figure agrees with the claim; a measured one, say."""
        low = self.value - self.tolerance * abs(self.value)
        top = self.value if self.upto is None else self.upto
        high = top + self.tolerance * abs(top)
        return (self.relation == "at most" or figure >= low) and (self.relation == "at least" or figure <= high)

    @property
    def claimed(self) -> str:
        """The claimed figure to read: `at least 60 ×`, `5 µs to 20 µs`."""
        if self.upto is not None:
            return f"{shown(self.value, self.unit, MOST)} to {shown(self.upto, self.unit, MOST)}"
        figure = shown(self.value, self.unit, MOST)
        return figure if self.relation == "about" else f"{self.relation} {figure}"

    @property
    def model(self) -> str:
        """The engine's figure to read: three digits, as many as an exact claim has that it agrees with, or as it takes to differ."""
        figure, digits = self.computed, 3
        holds = self.within(figure)
        if self.relation == "about" and holds and self.tolerance < FINE:
            digits = min(MOST, max(digits, len(significant(self.value, MOST).replace(",", "").replace(".", "").strip("0"))))
        while digits < MOST and not holds and shown(figure, self.unit, digits) == shown(self.value, self.unit, digits):
            digits += 1
        return shown(figure, self.unit, digits)


def claim(name: str) -> Claim:
    """A claim by its id."""
    if name not in claims():
        raise unknown("claim", name, claims(), "a table in a file of registry/claims/")
    return claims()[name]


@cache
def claims() -> Mapping[str, Claim]:
    """All claims, by id."""
    by_id: dict[str, Claim] = {}
    for path in sorted(folder("claims").glob("*.toml")):
        for new in load(path):
            if new.id in by_id:
                raise BadRegistry(f"{path.name} [{new.id}]: {by_id[new.id].file} has a claim of that id; give it another")
            by_id[new.id] = new
    return by_id


def load(path: Path) -> Iterator[Claim]:
    """The claims of one file, each checked."""
    required = ("says", "value", "unit", "who", "source", "date", "expression", "tolerance", "verdict", "why")
    optional = ("evidence", "measured", "relation", "upto")
    for name, table in read(path).items():
        where = f"{path.name} [{name}]"
        for key in required:
            if not isinstance(table, Mapping) or not str(table.get(key, "")).strip():
                raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
        for key in table:
            if key not in required + optional:
                raise BadRegistry(f"{where}: unknown key {key!r}; known: {', '.join(required + optional)}")
        relation = str(table.get("relation", "about"))
        for key, value, allowed in (("verdict", table["verdict"], VERDICTS), ("relation", relation, RELATIONS)):
            if value not in allowed:
                raise BadRegistry(f"{where}: {key} is {value!r}; choose one of {', '.join(allowed)}")
        if (relation == "between") != ("upto" in table):
            raise BadRegistry(f'{where}: `upto` and relation "between" go together; give both or neither')
        if table["unit"] not in UNITS and table["unit"] not in PLAIN_UNITS:
            raise BadRegistry(f"{where}: unknown unit {table['unit']!r}; known: {', '.join((*UNITS, *PLAIN_UNITS))}")
        if table["tolerance"] < 0:
            raise BadRegistry(f"{where}: tolerance is {table['tolerance']!r}; give a share of the value, such as 0.05")
        upto = table.get("upto")
        yield Claim(
            name, table["says"], float(table["value"]), table["unit"], table["who"], table["source"], str(table["date"]),
            table["expression"], float(table["tolerance"]), table["verdict"], table["why"], tuple(table.get("evidence", ())),
            _measured(where, table.get("measured")), relation, None if upto is None else float(upto), path.name,
        )  # fmt: skip


def _measured(where: str, table: Any) -> Measured | None:
    if table is None:
        return None
    for key in ("unit", "from", "expression"):
        if not isinstance(table, Mapping) or not table.get(key):
            raise BadRegistry(f"{where}: measured has no {key}; write measured = {{ unit, from, expression }}")
    return Measured(table["unit"], table["from"], table["expression"], where)


def row(file: str, /, **wanted: Any) -> Row:
    """The one row of an evidence file (`"h200_sxm/micro"`) whose fields or params are as wanted; None means: not there."""
    rows = [r for e in evidence(file.partition("/")[0]) if e.name == file for r in e.rows]
    matches = [r for r in rows if all(r.get(key) == value for key, value in wanted.items())]
    if len(matches) != 1:
        raise BadRegistry(f"evidence {file} has {len(matches)} rows of {len(rows)} with {wanted}; name one")
    return matches[0]


def compute(expression: str, where: str, more: Mapping[str, Any] | None = None) -> Any:
    """What an expression over NAMESPACE (and `more`) says; whatever goes wrong, the reader learns where it is written."""
    try:
        return eval(_compiled(expression), {"__builtins__": {}, **NAMESPACE, **(more or {})})
    except Exception as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


def _evaluate(expression: str, where: str, more: Mapping[str, Any] | None = None) -> float:
    result = compute(expression, where, more)
    try:
        return float(result)
    except (TypeError, ValueError) as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


@cache
def _compiled(expression: str) -> CodeType:
    tree = ast.parse(f"({expression.strip()})", mode="eval")
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("_"):
            raise ValueError(f"{name!r} has a leading underscore")
    return compile(tree, "<claim>", "eval")


def shown(value: float, unit: str, digits: int = 3) -> str:
    """A claim's figure to read: `512 KiB` where it is a round binary number, `1 kernel`, `N = 279`; inf is "never"."""
    if math.isinf(value):
        return "never"
    if unit == "B" and value >= 1024 and value % 1024 == 0 and value < 1000 * 1024:
        return f"{significant(value / 1024)} KiB"
    if unit in UNITS:
        return show(value, unit, digits)
    number = significant(value, digits)
    if unit == "N":
        return f"N\u202f=\u202f{number}"
    first, gap, rest = unit.partition(" ")
    return f"{number} {first.removesuffix('s') if number == '1' else first}{gap}{rest}"
