"""What `ironlaw diff` shows: a table of rows, the operators behind each, and the same as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.cli.show import draw
from ironlaw.report.operator_changes import Operator
from ironlaw.report.prediction_diff import Diff
from ironlaw.report.report_changes import DEVICE, Limit, Row, label
from ironlaw.units import show

COLUMNS = ("machine and mode", "before", "after", "change", "memory")
SLIGHT = 1e-3  # a change below which nobody asks for the operators
OPERATORS = ("operator", "kind", "before", "after", "change")


def report(asked: Diff, ops: int) -> None:
    found, limit = asked.changes, asked.limit
    draw.heading(found.model, verdict(asked))
    rows = []
    for row in found.rows:
        mark = draw.BAD if row.over(limit) else draw.GOOD if row.change < 0 else ""
        rows.append([label(row.key), show(row.old, "s"), show(row.new, "s"), (change(row), mark), memory(row)])
    draw.table(COLUMNS, rows, left=COLUMNS[:1])
    for title, cells, count in _behind(found.rows, limit, ops):
        draw.heading(title, f"{len(cells)} of {draw.plural(count, 'operator')} that changed, device time")
        draw.table(OPERATORS, cells, left=(), text=OPERATORS[:2])
    if same := _same(found.rows, limit):
        draw.say(same, draw.DIM)
    for note in found.notes:
        draw.say(f"! {note}", draw.BAD)


def markdown(asked: Diff, ops: int) -> str:
    """Tables as GitHub draws them, operators folded."""
    found, limit = asked.changes, asked.limit
    parts = [f"### {_escape(found.model)}: {verdict(asked)}", ""]
    marked = {True: " ❌", False: ""}
    cells = [
        (_escape(label(row.key)), show(row.old, "s"), show(row.new, "s"), change(row) + marked[row.over(limit)], memory(row))
        for row in found.rows
    ]
    parts += _table(COLUMNS, cells, 1)
    for names, operators, count in _behind(found.rows, limit, ops):
        title = f"{names}: {len(operators)} of {draw.plural(count, 'operator')} that changed, device time"
        parts += ["", f"<details><summary>{title}</summary>", ""]
        parts += [*_table(OPERATORS, [tuple(map(_escape, one)) for one in operators], 2), "", "</details>"]
    if same := _same(found.rows, limit):
        parts += ["", _escape(same)]
    return "\n".join([*parts, *(f"\n> {_escape(note)}" for note in found.notes)])


def _behind(rows: Sequence[Row], limit: Limit, ops: int) -> list[tuple[str, list[tuple[str, ...]], int]]:
    """The operators behind each change, once for rows that show the same ones."""
    tables: dict[tuple[tuple[str, ...], ...], list[Row]] = {}
    for row in rows:
        if row.operators and not _slight(row, limit):
            tables.setdefault(tuple(map(_cells, row.operators[:ops])), []).append(row)
    return [(", ".join(label(row.key) for row in same), list(cells), len(same[0].operators)) for cells, same in tables.items()]


def _same(rows: Sequence[Row], limit: Limit) -> str:
    names = [label(row.key) for row in rows if row.operators and _slight(row, limit)]
    return f"Other operators take the same time on {', '.join(names)}; `--json` lists them." if names else ""


def _slight(row: Row, limit: Limit) -> bool:
    return abs(row.change) < SLIGHT and not row.over(limit)


def verdict(asked: Diff) -> str:
    """`1 of 3 times grew by more than 5%`; which time is compared is said where it is not the whole call's."""
    rows, limit = asked.rows, asked.limit
    large = sum(row.too_large(limit) for row in rows)
    memory = (
        f"{large} of {draw.plural(len(rows), 'row')} need{'s' if large == 1 else ''} more than {show(limit.memory, 'B')}"
        if limit.memory and large
        else ""
    )
    time = "device time" if asked.on == DEVICE else "time"
    if limit.growth is None:
        changed = sum(bool(row.change) for row in rows)
        times = f"{changed} of {draw.plural(len(rows), time)} changed" if changed else f"no {time} changed"
        return "; ".join(filter(None, (times, memory)))
    share, unfit = draw.percent(limit.growth), sum(row.unfit for row in rows)
    grew = sum(row.change > limit.growth for row in rows)
    more = f", and {unfit} no longer fit{'s' if unfit == 1 else ''}" if unfit else ""
    times = f"{grew} of {draw.plural(len(rows), time)} grew by more than {share}{more}" if grew or unfit else ""
    return "; ".join(filter(None, (times or f"no {time} grew by more than {share}", memory)))


def change(row: Row) -> str:
    """`+12%`, `−3.1%`, `0`."""
    if not row.change:
        return "0"
    return f"{'−' if row.change < 0 else '+'}{draw.percent(abs(row.change))}"


def memory(row: Row) -> str:
    now = show(row.new_bytes, "B")
    return f"{now}, does not fit" if row.unfit else now


def _cells(op: Operator) -> tuple[str, ...]:
    times = ("–" if seconds is None else show(seconds, "s") for seconds in (op.old, op.new))
    return (
        op.name + (f" ×{op.count}" if op.count > 1 else ""), op.kind, *times, f"{'−' if op.change < 0 else '+'}{show(abs(op.change), 's')}",
    )  # fmt: skip


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int) -> list[str]:
    """The first `left` columns left-aligned, the others right."""
    rule = "|".join(["", *("---" if i < left else "---:" for i in range(len(columns))), ""])
    return [f"| {' | '.join(columns)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]


def _escape(text: str) -> str:
    """A name may hold what Markdown or HTML would read."""
    for mark in "\\|*_`<>[]":
        text = text.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return " ".join(text.split())
