"""Published tables as groups of people by score: COMPAS by decile, and the Federal Reserve's credit scores."""

from __future__ import annotations

from functools import cache

from ironlaw.engine.parity.curves import Group
from ironlaw.errors import unknown
from ironlaw.registry.publications import Published, published

COMPAS, CREDIT = "compas", "credit"


@cache
def groups(name: str) -> tuple[Group, ...]:
    """`groups("compas")`: rearrested within two years, by decile; `groups("credit")`: repaid, by score."""
    if name not in (COMPAS, CREDIT):
        raise unknown("data set", name, (COMPAS, CREDIT))
    table = published("compas" if name == COMPAS else "credit_scores")
    names = tuple(dict.fromkeys(str(cell) for cell in table.column("group")))
    return tuple((_deciles if name == COMPAS else _credit)(table, group) for group in names)


def _deciles(table: Published, group: str) -> Group:
    rows = table.where(group=group)
    scores, people, positives = ([float(row[column]) for row in rows] for column in ("decile", "people", "rearrested"))
    return Group(group, tuple(scores), tuple(people), tuple(positives))


def _credit(table: Published, group: str) -> Group:
    """Shares of the group become people; those who repay are what a default leaves."""
    rows, total = table.where(group=group), published("credit_totals").value("people", group=group)
    below = [float(row["below"]) / 100 for row in rows]
    people = [total * (b - a) for a, b in zip([0.0, *below], below, strict=False)]
    repaid = [count * (1.0 - float(row["default"]) / 100) for count, row in zip(people, rows, strict=True)]
    return Group(group, tuple(float(row["score"]) for row in rows), tuple(people), tuple(repaid))
