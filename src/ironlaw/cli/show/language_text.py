"""What `ironlaw analyze` prints of a language model's phases."""

from __future__ import annotations

from ironlaw.cli.show import draw
from ironlaw.engine.device.predict import Prediction
from ironlaw.report import language_words as words
from ironlaw.report.language_report import Language
from ironlaw.units import show


def report(language: Language, notes: bool = False) -> None:
    """`notes`: with the likely range of every row, and the columns explained."""
    draw.heading("as a language model", words.title(language))
    rows = words.shown(language)
    cells: list[list[draw.Cell]] = [
        [(cell, draw.BAD) if "does not fit" in cell else cell for cell in words.cells(language, row, show)] for row in rows
    ]
    draw.table(words.columns(language), cells, left=("mode",), text=("machine", "bound by"))
    draw.say(words.cache(language, show))
    for row in rows if notes else ():
        if line := words.likely(language, row, show):
            draw.say(line, draw.DIM)
    for line in words.groups(language):
        draw.say(f"! {line}", draw.BAD)
    draw.say(words.NOTE if notes else words.SHORT, draw.DIM)


def operators(p: Prediction, limit: int) -> None:
    """The same op of all layers together."""
    rows = words.operators(p, limit, show)
    phase = f"{p.graph.settings['phase']}: " if "phase" in p.graph.settings else ""
    more = f"the {len(rows)} longest of {len(p.ops):,} operators, like ones together"
    draw.heading(f"{phase}{p.hardware.slug}, {p.plan.mode}", more)
    draw.table(
        words.PLACES, [[*row[:-1], draw.term(row[-1])] for row in rows], left=("regime",), text=("operator",), spare=("moved", "work")
    )
