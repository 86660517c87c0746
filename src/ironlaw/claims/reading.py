"""Readings: what every matching row of evidence says about the quantity of a claim, with the premises that the row records.

A `Source` selects rows by role (`eager`, `fused`), pairs those that agree on everything but their role, and computes one figure per pair:

    rows.eager = { kind = "function", name = "layernorm_dropout_relu", mode = "eager" }
    rows.fused = { kind = "function", name = "layernorm_dropout_relu", mode = { any = ["compiled", "triton"] } }
    clocks = ["busy_s"]
    figure = "time(eager) / time(fused)"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.calibration import local_machine
from ironlaw.claims.expressions import compute, evaluate
from ironlaw.claims.filters import agrees
from ironlaw.claims.provenance import MEASURED, kind
from ironlaw.claims.published_reading import groups as published_groups
from ironlaw.claims.source import Source
from ironlaw.registry.evidence import Evidence, evidence, measured
from ironlaw.registry.machines import hardware

IDENTITY = ("op", "name", "mode", "variant", "tool", "tensors")  # fields that say what was run; shapes and formats are in `params`
FILE = "file"
DEFAULT = "default"  # a variant that was not asked for
MACHINE = "machine"  # the kind of the row that stands for a file's head: what the machine reports about itself


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """One figure, and the premises it was taken under; a premise that is not among them was not recorded. Equal to itself alone."""

    value: float
    premises: Mapping[str, Any]
    files: tuple[str, ...]
    relation: str = ""
    kind: str = MEASURED  # what the figure is, of `provenance.COLUMNS`

    def get(self, name: str) -> Any:
        """A premise, or the file it comes from; None where it was not recorded."""
        return " and ".join(self.files) if name == FILE else self.premises.get(name)


@cache
def readings(source: Source) -> tuple[Reading, ...]:
    """Over every evidence file that ships. What was measured on this machine is left out: a verdict is the same everywhere."""
    if source.published:
        return tuple(
            Reading(figure, premises, (table,), source.relation, kind(source)) for figure, premises, table in published_groups(source)
        )
    return tuple(reading for slug in measured() if slug != local_machine.SLUG for reading in _on(slug, source))


def _on(slug: str, source: Source) -> Iterator[Reading]:
    by_role = {role: list(_matches(slug, wanted)) for role, wanted in source.rows.items()}
    first, *others = by_role
    fixed = {key for wanted in source.rows.values() for key in wanted}
    by_join: dict[str, dict[str, list[tuple[str, Row]]]] = {role: {} for role in others}
    for role in others:
        for name, row in by_role[role]:
            by_join[role].setdefault(_join(row, name, fixed, source.across), []).append((name, row))
    for name, row in by_role[first]:
        partners = [by_join[role].get(_join(row, name, fixed, source.across), []) for role in others]
        for group in product([(name, row)], *partners):
            yield from _figures(slug, source, dict(zip(by_role, group, strict=True)), fixed)


def _figures(slug: str, source: Source, group: Mapping[str, tuple[str, Row]], fixed: set[str]) -> Iterator[Reading]:
    rows = {role: row for role, (_, row) in group.items()}
    names = rows | {"machine": hardware(slug)}
    if source.keep and not compute(source.keep, source.where, names):
        return
    for clock in source.clocks or ("",):
        if clock and any(row.get(clock) is None for row in rows.values()):
            continue
        more = {"time": lambda row, clock=clock: row.value(clock)} if clock else {}
        premises = _premises(slug, rows, source, fixed) | ({"clock": clock} if clock else {})
        value = evaluate(source.figure, source.where, names | more)
        yield Reading(value, premises, tuple(dict.fromkeys(name for name, _ in group.values())), source.relation)


def _premises(slug: str, rows: Mapping[str, Row], source: Source, fixed: set[str]) -> dict[str, Any]:
    first = next(iter(rows.values()))
    values: dict[str, Any] = {"machine": slug, **source.premises}
    if first.workload or first.model:
        values["model"] = first.workload or first.model
    for key, value in first.params.items():
        if key not in fixed and source.names.get(key, key):
            values[source.names.get(key, key)] = _simple(value)
    for role, row in rows.items():
        chosen = 0  # of the fields that its filter leaves open
        for key in (*IDENTITY, *(key for key in row.params if key in fixed)):
            wanted, value = source.rows[role].get(key), row.get(key) or (DEFAULT if key == "variant" else None)
            if value is None or not (wanted is None or isinstance(wanted, Mapping)):
                continue
            name = source.names.get(key, key)
            if wanted is not None and len(rows) > 1:  # `fused` is compiled or triton: the role is the premise
                name, chosen = f"{role} {key}" if chosen else role, chosen + 1
            if values.get(name, DEFAULT) == DEFAULT:
                values[name] = _simple(value)
    return values


def _matches(slug: str, wanted: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    kind, op = wanted.get("kind"), wanted.get("op")
    rest = {key: value for key, value in wanted.items() if key not in (FILE, MACHINE)}
    for file in evidence(slug):
        if wanted.get(FILE, file.name) != file.name or wanted.get(MACHINE, slug) != slug:
            continue
        for row in _heads(file) if kind == MACHINE else file.rows:
            if (kind and row.kind != kind) or (isinstance(op, str) and row.op != op):
                continue  # most of thousands of rows, before the rest is compared
            if not row.error and all(agrees(row.get(key), value) for key, value in rest.items()):
                yield file.name, row


def _heads(file: Evidence) -> tuple[Row, ...]:
    return (Row(kind=MACHINE, extra=file.machine),)


def _join(row: Row, file: str, fixed: set[str], across: bool) -> str:
    """Equal for rows that differ in nothing but their role."""
    params = {key: value for key, value in row.params.items() if key not in fixed}
    called = [row.get(key) for key in ("op", "name") if key not in fixed]
    return json.dumps(["" if across else file, row.workload, row.model, called, params], sort_keys=True)


def _simple(value: Any) -> Any:
    """A value that can be compared and shown: a list becomes a tuple, settings their text."""
    if isinstance(value, list):
        return tuple(value)
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
