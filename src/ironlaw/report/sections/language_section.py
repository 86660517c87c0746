"""What a language model takes: first token, each token, cache, largest batch."""

from __future__ import annotations

from ironlaw.report import language_words as words
from ironlaw.report.language_report import Language
from ironlaw.report.markup import Cell, items, paragraph, table, text
from ironlaw.widget.quantities import format_quantity

OPS = 8  # operators that the section lists


def section(language: Language) -> str:
    columns = words.columns(language)
    rows = words.shown(language)
    lines: list[list[Cell]] = [
        [(cell, "c-fail") if "does not fit" in cell else cell for cell in words.cells(language, row, format_quantity)] for row in rows
    ]
    out = paragraph(f"{words.title(language).capitalize()}. {words.cache(language, format_quantity)}")
    out += table(columns, lines, "First token, each token, largest batch", tuple(range(2, len(columns) - 1)))
    out += paragraph(words.NOTE, "il-quiet")
    sure = [line for row in rows if (line := words.likely(language, row, format_quantity))]
    out += items(sure, "il-quiet") if sure else ""
    large = words.groups(language)
    out += items(large, "refused") if large else ""
    for phase in language.phases:
        p = next(iter(phase.predictions.values()))[0]
        out += f"<h3>{text(f'{phase.name.capitalize()}: {p.hardware.name}, {p.plan.mode}')}</h3>"
        out += table(words.PLACES, words.operators(p, OPS, format_quantity), f"What takes longest, {phase.name}", tuple(range(1, 6)))
    return out + paragraph("The same operator of all layers together; every one by itself is in the table below.", "il-quiet")
