"""Tables and lines without rich: for a locked-down machine that has nothing but Python and PyTorch."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

# names and messages come from files of others: no character of theirs moves the cursor, recolours the terminal or hides a line
CONTROL = {
    code: "\ufffd" for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)) if chr(code) not in "\n\t"
}


def clean(text: str) -> str:
    return text if text.isprintable() else text.translate(CONTROL)


def width() -> int:
    return shutil.get_terminal_size().columns


def say(text: str = "", indent: int = 0) -> None:
    start, text = " " * indent, clean(text)
    print("\n".join(textwrap.wrap(text, max(width(), 40), initial_indent=start, subsequent_indent=start)) if text else "")


def heading(text: str, more: str = "") -> None:
    print(f"\n{clean(text)}" + (f"  {clean(more)}" if more else ""))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], left: Sequence[str] = (), sections: Iterable[int] = ()) -> None:
    """Columns in `left` are left-aligned, the others right; a line is left empty after the rows of `sections`."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(len(part) for text in column for part in text.split("\n")) for column in zip(columns, *cells, strict=True)]
    print(_line(columns, columns, widths, left))
    print("  ".join("─" * size for size in widths))
    breaks = set(sections)
    for index, row in enumerate(cells):
        tall = max(text.count("\n") for text in row)
        for part in range(tall + 1):
            print(_line([(text.split("\n") + [""] * tall)[part] for text in row], columns, widths, left))
        if index in breaks:
            print()


def _line(texts: Sequence[str], columns: Sequence[str], widths: Sequence[int], left: Sequence[str]) -> str:
    aligned = (f"{t:<{w}}" if name in left else f"{t:>{w}}" for t, name, w in zip(texts, columns, widths, strict=True))
    return "  ".join(aligned).rstrip()


def pairs(rows: Iterable[tuple[str, Any]]) -> None:
    lines = [(name, cell(value)) for name, value in rows]
    first = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        print(f"{name:<{first}}  {value}")


def cell(value: Any) -> str:
    """Text, or the text of a (text, style) pair: there are no styles here."""
    return clean(value if isinstance(value, str) else str(value[0]))
