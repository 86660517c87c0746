"""Which of several measured configurations are worth having: those that no other beats on both cost and harm."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.engine.numerics.pareto_2d import Point, dominated_by, frontier
from ironlaw.errors import BadValue, unknown
from ironlaw.registry.publications import published
from ironlaw.systems.fields import custom
from ironlaw.systems.question import Question, Table

if TYPE_CHECKING:
    from ironlaw.outputs.law_output import FrontierRow, QuantiseFrontierJson

SCOREBOARD = "llama_cpp_scoreboard"
COLUMNS = ("name", "cost", "harm")


@dataclass(frozen=True, repr=False)
class Frontier(Question):
    schema = "ironlaw-quantise-frontier/1"
    frontier: str = custom(str, metavar="TABLE", about=f"{SCOREBOARD}, or a CSV file with the columns {', '.join(COLUMNS)}")

    @cached_property
    def answer(self) -> QuantiseFrontierJson:
        points = _points(self.frontier)
        left = {point.name for point in frontier(points)}
        rows: list[FrontierRow] = []
        for point in sorted(points, key=lambda p: (p.cost, p.harm)):
            better = dominated_by(point, points)
            rows.append(
                {
                    "name": point.name, "cost": point.cost, "harm": point.harm, "on_frontier": point.name in left,
                    "dominated_by": better.name if better else None,
                }
            )  # fmt: skip
        return {"points": len(points), "on_frontier": len(left), "rows": rows}

    def table(self) -> Table:
        rows = [(one["name"], f"{one['cost']:g}", f"{one['harm']:g}") for one in self.answer["rows"] if one["on_frontier"]]
        return Table(f"{len(rows)} of {self.answer['points']} configurations that no other beats", COLUMNS, rows)


def _points(table: str) -> list[Point]:
    if table == SCOREBOARD:
        rows = (row for row in published(table).rows if row["imatrix"] in ("none", "WT 10m"))
        return [
            Point(f"{row['quant']}{'' if row['imatrix'] == 'none' else ', imatrix'}", float(row["size"]), float(row["ppl"])) for row in rows
        ]
    path = Path(table)
    if not path.is_file():
        raise BadValue(f"no file {table!r}, and no table of that name; give {SCOREBOARD}, or a CSV file with {', '.join(COLUMNS)}")
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise unknown("column", missing[0], reader.fieldnames or ["none at all"], f"a first line with {','.join(COLUMNS)}")
        points = [_point(table, number, row) for number, row in enumerate(reader, 2)]
    if not points:
        raise BadValue(f"{table} has no configurations; add lines of {','.join(COLUMNS)}")
    names = [point.name for point in points]
    if len(set(names)) < len(names):
        raise BadValue(f"{table}: {next(n for n in names if names.count(n) > 1)!r} appears twice; give each configuration its own name")
    return points


def _point(table: str, line: int, row: dict[str, Any]) -> Point:
    try:
        return Point(str(row["name"]), float(row["cost"]), float(row["harm"]))
    except (TypeError, ValueError):
        raise BadValue(
            f"{table}, line {line}: cost {row['cost']!r} and harm {row['harm']!r}; write two numbers, less is better in both"
        ) from None
