"""Tables and lines without rich: for a locked-down machine that has nothing but Python and PyTorch."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

# names and messages come from files of others: no character of theirs moves the cursor, recolours the terminal or hides a line
CONTROL = {
    code: "\ufffd" for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)) if chr(code) not in "\n\t"
}


# where no line ends: before a unit, inside `8.03 G parameters`, and inside `TP 4`
WHOLE = re.compile(
    r"(?<=\d) (?=(?:(?:[kMGTP]i?|[mµn])?(?:FLOP|OP|Hz|B|s|Wh?|J|min|h|d)\b|[kMG] parameters))|(?<=\d [kMG]) (?=parameters)"
    r"|(?<=\b[TPDCE]P) (?=\d)"
)
HELD = "\ue000"  # stands for such a space while lines are broken
NUMBERED = re.compile(r"\d+\. ")
PART, PIECE = re.compile(r"[^.]+\.?|\."), re.compile(r"[^_]+_?|_")  # of a module's name, and of a word in it
WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")  # of a shell's command: what is quoted stays whole
SHORTEST = 12  # a column is never narrower


def folded(text: str, room: int) -> str:
    """The same words in lines of at most `room`; a numbered one goes on under its first word."""
    lines = []
    for line in text.split("\n"):
        later = " " * len(found[0]) if (found := NUMBERED.match(line)) else ""
        broken = textwrap.wrap(WHOLE.sub(HELD, line), max(room, 40), subsequent_indent=later, break_on_hyphens=False)
        lines += [line] if len(line) <= room else broken
    return "\n".join(lines).replace(HELD, " ")


def in_shell(line: str, room: int) -> str:
    """A command in lines of `room` that a shell takes as one; a comment in several comments."""
    if line.startswith("#"):
        return "\n".join(textwrap.wrap(line, max(room, 40), subsequent_indent="# ", break_on_hyphens=False))
    lines = [""]
    for word in WORD.findall(line):
        if lines[-1].strip() and len(lines[-1]) + len(word) + len(" \\ ") > room:
            lines[-1] += " \\"
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def words_in(text: str, room: int) -> str:
    """The same words in lines of `room`, or as long as the longest of them."""
    return "\n".join(textwrap.wrap(text, max(room, *map(len, text.split())), break_on_hyphens=False)) if text.strip() else text


def in_parts(text: str, room: int) -> str:
    """A name such as blocks.0.attention_output.addmm in lines of `room`, each broken after a dot, or else an underscore."""
    if " " in text or len(text) <= max(room, SHORTEST):
        return text
    pieces = [piece for part in PART.findall(text) for piece in (PIECE.findall(part) if len(part) > room else [part])]
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) > room:
            lines.append("")
        lines[-1] += piece
    return "\n".join(filter(None, lines))


def clean(text: str) -> str:
    return text if text.isprintable() else text.translate(CONTROL)


def width() -> int:
    return shutil.get_terminal_size().columns


def say(text: str = "", indent: int = 0) -> None:
    start, text = " " * indent, clean(text)
    print(textwrap.indent(folded(text, width() - indent), start) if text else "")


def heading(text: str, more: str = "") -> None:
    print("\n" + folded(clean(text) + (f"  {clean(more)}" if more else ""), width()))


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
