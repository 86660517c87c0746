"""The tables under an instrument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table_row(cells: Sequence[str]) -> str:
    """The first cell names the row."""
    return f'<tr><th scope="row">{cells[0]}</th>{"".join(f"<td>{cell}</td>" for cell in cells[1:])}</tr>'


def scrolling_table(caption: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML. On a phone the table scrolls by itself: its width must not become the instrument's."""
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(map(table_row, rows))
    table = f'<table class="il-gap"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="il-scroll" style="contain: inline-size" tabindex="0" role="region" aria-label="{caption}">{table}</div>'
