"""Many answers, one by one: a wall of squares for each row, those that are wrong lit. Columns fill from the left, so that a share of all
squares is a place on the axis, and a prediction can stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

LINES = 13  # squares in a column
ROOM = 12.0  # percent, for the words behind a wall


def wall(
    rows: Mapping[str, int], total: int, title: str, *, of: str = "answer", extra: Sequence[Mark] = (), note: str = "", id: str = "wall"
) -> Figure:  # fmt: skip
    """`rows`: name -> how many of the `total` are right. Every square is one of them."""
    if not rows or not all(0 <= right <= total for right in rows.values()):
        raise BadValue(f"{title}: give rows with between 0 and {total} right each")
    columns = -(-total // LINES)
    end = 100 * columns * LINES / total
    marks: list[Mark] = []
    for name, right in rows.items():
        for kind, start, count in (("right", 0, right), ("wrong", right, total - right)):
            if count:
                marks.append(
                    mark(
                        "cells", "fail" if kind == "wrong" else "muted", x0=0.0, x1=end, y=name, grid=(columns, LINES), down=True,
                        start=start, count=count, hollow=kind == "right", id=f"{name}-{kind}", name=kind,
                        hover=[(name, kind), (f"{of}s", f"{count:,} of {total:,}"), ("share", exact(100 * count / total, "%"))],
                    )
                )  # fmt: skip
        marks.append(mark("label", "ink", x=end, y=name, id=f"{name}-share", label=format_quantity(100 * right / total, "%")))
    words = "; ".join(f"{name}: {right:,} of {total:,} {of}s are right" for name, right in rows.items())
    table = tuple((name, f"{right:,}", f"{total - right:,}", format_quantity(100 * right / total, "%")) for name, right in rows.items())
    return Figure(
        id, title, Axis("linear", f"share of the {total:,} {of}s", "%", (0.0, 100 + ROOM), ticks=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0)),
        Axis("band", names=tuple(rows)), (*marks, *extra), words + ".", Table(("", "right", "wrong", "share right"), table), note,
        ({"colour": "muted", "hollow": True, "shape": "square", "label": f"a right {of}"},
         {"colour": "fail", "shape": "square", "label": f"a wrong {of}"}), {"stacked": True, "row": 138},
    )  # fmt: skip
