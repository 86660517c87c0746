"""Tables and lines in the terminal. rich is imported here, and only when something is drawn.

rich heeds NO_COLOR, the terminal's width, and leaves colour out of pipes. Where it is not installed, `plain` draws.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from ironlaw.cli.show import plain
from ironlaw.systems.question import document
from ironlaw.units import show

# chosen so that terminals of 16 colours show green, blue and yellow
TERMS = {"memory": "#1fa84f", "compute": "#4c8dff", "overhead": "#d97f1e"}
GOOD, BAD, DIM, STRONG = "#1fa84f", "bold #d9534f", "dim", "bold"
WIDE = 100  # columns from which a table may spread
GAP = 2  # columns between two of a table
WORDS = 20  # columns that are left for a sentence beside a name

Cell = str | tuple[str, str]  # text, or text and its style


@cache
def rich() -> bool:
    return find_spec("rich") is not None


def console() -> Any:
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # `main` knows what to do; rich would exit with 1, which means a failed validation

    return Quiet(markup=False, highlight=False, emoji=False)


def width() -> int:
    if not rich():
        return plain.width()
    return int(console().width)


def say(text: str = "", style: str = "", indent: int = 0) -> None:
    """A paragraph, wrapped to the terminal."""
    if not rich():
        return plain.say(text, indent)
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    shown = Text(plain.folded(plain.clean(text), int(screen.width) - indent), style)
    screen.print(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)


def command(text: str) -> None:
    """Lines for a shell, to be copied as they stand: those that are too long go on after a backslash."""
    for line in text.splitlines():
        shown = plain.in_shell(plain.clean(line), int(console().width) if rich() else plain.width())
        if rich():
            from rich.text import Text

            console().print(Text(shown, DIM if line.startswith("#") else ""), soft_wrap=True)
        else:
            print(shown)


def heading(text: str, more: str = "") -> None:
    if not rich():
        return plain.heading(text, more)
    from rich.text import Text

    screen, name = console(), plain.clean(text)
    whole = plain.folded(name + (f"  {plain.clean(more)}" if more else ""), int(screen.width))
    shown = Text(f"\n{whole}", DIM)
    shown.stylize(f"not dim {STRONG}", 1, 1 + len(name))
    screen.print(shown)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    left: Sequence[str] = (),
    text: Sequence[str] = (),
    sections: Iterable[int] = (),
    spare: Sequence[str] = (),
) -> None:
    """Figures are right-aligned and unbroken, columns in `left` are left-aligned and unbroken, those in `text` may wrap.

    `sections`: the rows after which a gap is left. `spare`: columns to leave out, one by one, until the table fits the terminal.
    """
    if spare:
        columns, rows = _fitting(columns, list(rows), spare)
    if not rich():
        return plain.table(columns, rows, (*left, *text), sections)
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style=STRONG)
    rows = _names(columns, list(rows), text)
    for name, head in zip(columns, columns if text else _heads(columns, rows), strict=True):
        wraps = name in text
        grid.add_column(
            head, justify="left" if wraps or name in left else "right", no_wrap=not wraps, overflow="fold" if wraps else "ellipsis"
        )
    breaks = set(sections)
    for index, row in enumerate(rows):
        grid.add_row(*map(_cell, row), end_section=index in breaks)
    console().print(grid)


def _fitting(columns: Sequence[str], rows: list[Sequence[Any]], spare: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """The columns and cells that are left once the table is no wider than the terminal."""
    room, keep = width(), list(columns)
    cells = [dict(zip(columns, row, strict=True)) for row in rows]
    sizes = {name: max(map(len, (*name.split(), *(line for row in cells for line in _text(row[name]).split("\n"))))) for name in columns}
    for name in spare:
        if sum(sizes[each] + GAP for each in keep) <= room:
            break
        keep.remove(name)
    return keep, [[row[name] for name in keep] for row in cells]


def _heads(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Where the table is wider than the terminal, a head of several words takes several lines, so that no figure is cut."""
    sizes = [max((len(line) for row in rows for line in _text(row[i]).split("\n")), default=0) for i in range(len(columns))]
    if sum(max(size, *map(len, name.split("\n"))) + GAP for name, size in zip(columns, sizes, strict=True)) <= width():
        return list(columns)
    return ["\n".join(plain.words_in(line, size) for line in name.split("\n")) for name, size in zip(columns, sizes, strict=True)]


def _names(columns: Sequence[str], rows: list[Sequence[Any]], text: Sequence[str]) -> list[Sequence[Any]]:
    """The rows with names that are longer than their column broken after a dot or an underscore."""
    if not text or text[0] not in columns:
        return rows
    place = list(columns).index(text[0])
    others = [max((len(line) for row in rows for line in _text(row[i]).split("\n")), default=0) for i in range(len(columns))]
    others = [min(size, WORDS) if name in text else size for name, size in zip(columns, others, strict=True)]
    heads = [max(map(len, name.split("\n"))) for name in columns]
    room = width() - sum(max(a, b) + GAP for i, (a, b) in enumerate(zip(others, heads, strict=True)) if i != place) - GAP
    return [[plain.in_parts(cell, room) if i == place and isinstance(cell, str) else cell for i, cell in enumerate(row)] for row in rows]


def _text(value: Any) -> str:
    return str(value[0]) if isinstance(value, tuple) else str(value)


def pairs(rows: Iterable[tuple[str, Any]]) -> None:
    """Names on the left, values on the right, no head."""
    if not rich():
        return plain.pairs(rows)
    from rich.table import Table

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style=DIM, no_wrap=True)
    grid.add_column(overflow="fold")
    screen, listed = console(), [(name, _cell(value)) for name, value in rows]
    room = int(screen.width) - max((len(name) for name, _ in listed), default=0) - 2 * GAP
    for name, value in listed:
        grid.add_row(name, _folded(value, room))
    screen.print(grid)


def _folded(cell: Any, room: int) -> Any:
    """A cell of one style in lines that hold figures and units together; one of several styles as it is."""
    from rich.text import Text

    return cell if cell.spans or len(cell.plain) <= room else Text(plain.folded(cell.plain, room), cell.style)


def _cell(value: Any) -> Any:
    from rich.text import Text

    if isinstance(value, Text):
        return value
    return Text(plain.clean(value)) if isinstance(value, str) else Text(plain.clean(value[0]), value[1])


def term(name: str) -> Cell:
    """memory, compute or overhead in its colour."""
    return name, TERMS.get(name, "")


def bar(shares: Sequence[tuple[str, float]], length: int) -> Any:
    """A bar in the terms' colours; every part that is more than nothing is at least seen when it fills half a cell."""
    total = sum(value for _, value in shares) or 1.0
    parts: list[tuple[str, str]] = []
    done, drawn = 0.0, 0
    for (name, value), mark in zip(shares, "█▒░", strict=False):  # marks differ, so the bar reads without colour too
        done += value
        end = round(length * done / total)
        parts.append((mark * (end - drawn), TERMS[name]))
        drawn = end
    if not rich():
        return "".join(text for text, _ in parts)
    from rich.text import Text

    return Text.assemble(*parts)


def span(low: float, high: float, unit: str, broken: bool = False) -> str:
    """`1.2 ms – 1.4 ms`; one figure where both read the same; on two lines where there is little room."""
    a, b = show(low, unit), show(high, unit)
    return a if a == b else f"{a} –\n{b}" if broken else f"{a} – {b}"


def percent(share: float) -> str:
    """12%, 0.4%: two digits, so that a small share is not zero."""
    value = 100.0 * share
    if 0 < value < 0.01:
        return "< 0.01%"
    return f"{value:.0f}%" if value >= 9.95 or value == 0 else f"{value:.2g}%"


def count(value: float) -> str:
    return f"{value:,.0f}"


def plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def emit(value: Mapping[str, Any], schema: str = "") -> None:
    """JSON and nothing else."""
    print(json.dumps(document(value, schema), indent=2, allow_nan=False))
