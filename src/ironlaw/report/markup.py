"""HTML as text: everything that comes from outside is escaped here and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

Cell = str | tuple[str, str]  # words, or (words, class)
CODE = re.compile(r"`([^`]+)`")
SIZE = re.compile(r"(?<=\d) (?=[kMGT]i?B\b)")  # no line ends inside a size, such as that in a device's name


def text(value: object) -> str:
    return escape(str(value), quote=True)


def prose(words: object) -> str:
    """With commands marked, and sizes whole."""
    return CODE.sub(r"<code>\1</code>", SIZE.sub("\u202f", text(words)))


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def items(lines: Iterable[str], kind: str = "") -> str:
    return f'<ul class="{kind}">' + "".join(f"<li>{prose(line)}</li>" for line in lines) + "</ul>"


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    return '<dl class="facts">' + "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows) + "</dl>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str, numbers: Sequence[int] = ()) -> str:
    """A table that scrolls by itself where it is too wide, and is a list of cards on a phone. The first cell heads its row."""
    head = "".join(f'<th scope="col"{_number(i, numbers)}>{text(name)}</th>' for i, name in enumerate(columns))
    body = "".join(_row(columns, row, numbers) for row in rows)
    label = text(caption)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}"><table class="cards">'
        f'<caption class="il-hearing">{label}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(columns: Sequence[str], row: Sequence[Cell], numbers: Sequence[int]) -> str:
    cells = []
    for i, cell in enumerate(row):
        words, kind = cell if isinstance(cell, tuple) else (cell, "")
        name = "th" if i == 0 else "td"
        scope = ' scope="row"' if i == 0 else ""
        inner = f'<span class="{kind}">{text(words)}</span>' if kind else text(words)
        cells.append(f'<{name}{scope}{_number(i, numbers)} data-label="{text(columns[i])}">{inner}</{name}>')
    return f"<tr>{''.join(cells)}</tr>"


def _number(i: int, numbers: Sequence[int]) -> str:
    return ' class="number"' if i in numbers else ""


def data(value: Any) -> str:
    """JSON inside a page: no `<` may end the script early, and a non-finite number is nothing."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
