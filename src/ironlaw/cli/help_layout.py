"""How `--help` is set: nothing runs over the terminal's edge, and what is long goes on under its own beginning."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator

WIDEST, NARROWEST = 120, 40
ENTRY = re.compile(r"  [a-z]+ {2,}(?=\S)")  # of a list: a name, and a summary that stands apart
ALTERNATIVE = re.compile(r"\[[^][]*(?:\[[^][]*\][^][]*)*\]|\([^()]*\)|\S+")  # of a usage: what brackets hold stays together
WORD = re.compile(r'(?:"[^"]*"|\S)+')  # of a command: so does what quotes hold
# of an option's help: so do a command or a quotation, and a figure and its unit
PHRASE = re.compile(r"""(?:(?<!\w)'[^']*'|(?<!\w)"[^"]*"|`[^`]*`|\d(?: (?:s|ms|µs|min|GB|MB)\b)?|\S)+""")


class Help(argparse.RawDescriptionHelpFormatter):
    """argparse's, which leaves descriptions, headings and examples as long as they are."""

    def __init__(self, prog: str, **settings: object) -> None:
        wide = shutil.get_terminal_size().columns
        super().__init__(prog, width=max(min(wide, WIDEST) - 2, NARROWEST))

    def _format_usage(self, usage: str | None, actions: object, groups: object, prefix: str | None) -> str:
        if usage is None:
            return super()._format_usage(usage, actions, groups, prefix)  # type: ignore[arg-type]
        lines: list[str] = []
        for each in usage.splitlines():
            start = " " * len("usage: ") if lines else "usage: "
            lines += folded(ALTERNATIVE.findall(each), self._width, start, " " * (len("usage: ") + len(self._prog) + 1))
        return "\n".join(lines) + "\n\n"

    def _split_lines(self, text: str, width: int) -> list[str]:
        """argparse's would part a name at its hyphen."""
        return folded(PHRASE.findall(text), width, "", "")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(line for each in text.splitlines() for line in self._lines(each, width))

    def start_section(self, heading: str | None) -> None:
        names = {"positional arguments": "arguments"}
        text = names.get(heading or "", heading or "")
        super().start_section("\n".join(folded(text.split(), self._width, "", "")) if heading else heading)

    def _lines(self, line: str, width: int) -> Iterator[str]:
        if len(line) <= width:
            yield line
        elif line.startswith("  ironlaw "):  # an example, which goes on after a backslash so that it can be copied
            *broken, last = folded(_with_values(WORD.findall(line)), width - 2, "  ", "      ")
            yield from (f"{each} \\" for each in broken)
            yield last
        else:
            start = found[0] if (found := ENTRY.match(line)) else ""
            yield from folded(line[len(start) :].split(), width, start, " " * len(start))


def folded(words: list[str], width: int, start: str, later: str) -> list[str]:
    """Lines of at most `width` where the words allow it: the first begins with `start`, the others with `later`."""
    lines, line = [], start
    for word in words:
        if line.strip() and line not in (start, later) and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = later
        line += word if line in (start, later) else f" {word}"
    return [*lines, line]


def _with_values(words: list[str]) -> list[str]:
    """An option and its value, which stay on one line."""
    joined: list[str] = []
    for word in words:
        if joined and re.fullmatch(r"--\w\S*", joined[-1]) and not word.startswith("-"):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined
