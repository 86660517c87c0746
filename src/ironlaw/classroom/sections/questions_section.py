"""Predictions and the other questions: who chose what, how far off, and which of them separate."""

from __future__ import annotations

from textwrap import shorten

from ironlaw import lab_names
from ironlaw.classroom.answer_counts import ClassFigures
from ironlaw.classroom.class_predictions import ItemFigures
from ironlaw.classroom.sections.section_words import NONE, bar, factor, of, people, percent, signed
from ironlaw.classroom.stats import FEWEST, FEWEST_EACH
from ironlaw.report.markup import Cell, paragraph, table, text
from ironlaw.units import joined, show, significant

KINDS = {"prediction": "prediction", "decision": "decision", "reflection": "reflection", "blank": "sentence", "number": "challenge"}
NEAR = 0.5  # orders of magnitude: no other power of ten is nearer
LONGEST_TITLE = 160  # characters of a question in a row of a table
SCALED = ("B", "s")  # units that take a prefix: 911 ms
CLEARLY, HARDLY = 0.3, 0.1


def questions(figures: ClassFigures) -> str:
    out = paragraph("First answers only: later ones were given with the truth in sight.", "il-quiet")
    lab = ""
    for one in figures.items:
        if one.item.lab != lab:
            lab = one.item.lab
            sheet = figures.sheets[lab]
            out += f"<h3>{text(sheet.heading)}</h3>" if sheet.known else f"<h3>{text(lab)}</h3>"
        out += _question(one)
    return out


def _question(one: ItemFigures) -> str:
    bars = "".join(
        bar(option.chosen / one.n, option.label, f"{percent(option.chosen / one.n)} ({option.chosen:,})", "right" if option.right else "",
            "right" if option.right else "")
        for option in one.options
    )  # fmt: skip
    facts = [f"{of(one.right, one.n)} right"]
    if one.off is not None and one.orders is not None:
        wrong = f"; too high: {one.too_high:,}, too low: {one.too_low:,}" if one.too_high + one.too_low else ""
        answer, unit = one.item.answer, one.item.unit or ""
        truth = f"truth {_figure(float(answer), unit)}" if isinstance(answer, (int, float)) else ""
        near = (
            "at least half of the answers are as good as exact"
            if (off := factor(one.off)) == "1"
            else f"half of the answers are within a factor of {off} of it"
        )
        facts += [truth, near + wrong]
    if one.again:
        facts.append(f"{one.again:,} tried again")
    if one.rejudged:
        facts.append(f"{one.rejudged:,} judged with an older key")
    body = f'<ul class="bars">{bars}</ul>' if bars else ""
    name = f'<span class="note">{text(place(one))}</span>'
    said = text("; ".join(fact for fact in facts if fact))
    return f'<article class="question"><h4>{text(one.item.title)} {name}</h4>{body}<p class="il-quiet">{said}.</p></article>'


def _figure(value: float, unit: str) -> str:
    return show(value, unit) if unit in SCALED else joined(significant(value), unit)


def place(one: ItemFigures) -> str:
    """`Act I, reflection`."""
    return f"{lab_names.act(one.item.name)}, {KINDS.get(one.item.kind, 'question')}"


def separating(figures: ClassFigures) -> str:
    """Which questions tell those who know more from those who know less."""
    most = max((one.compared for one in figures.items), default=0)
    if most < FEWEST:
        return paragraph(f"Nothing can be said with {people(most)}: a correlation needs at least {FEWEST}.")
    rows: list[tuple[Cell, ...]] = []
    for one in figures.items:
        low, high = one.interval or (0.0, 0.0)
        shown = one.separates is not None
        value = signed(one.separates) if one.separates is not None else NONE
        interval = f"{signed(low)} to {signed(high)}" if shown else NONE
        rows.append((_name(figures, one), f"{one.compared:,}", percent(one.share), value, interval, _verdict(one)))
    words = paragraph(
        "The correlation between being right here and the share of right answers to all other questions"
        f" (corrected point-biserial, with a 95% interval). It is left out where fewer than {FEWEST} learners answered,"
        f" or fewer than {FEWEST_EACH} were right or wrong."
    )
    return words + table(
        ["question", "learners", "right", "separates", "95% interval", "verdict"], rows, "How well questions separate", (1, 2, 3, 4)
    )


def _name(figures: ClassFigures, one: ItemFigures) -> str:
    title = f": {shorten(one.item.title, LONGEST_TITLE, placeholder=' …')}" if one.item.text else ""
    return f"{figures.sheets[one.item.lab].name}, {place(one)}{title}"


def _verdict(one: ItemFigures) -> Cell:
    if one.separates is None or one.interval is None:
        return "too few to say" if one.compared < FEWEST else "almost everyone gives the same answer"
    low, high = one.interval
    if high < 0:
        return "misleads stronger learners", "c-fail"
    if low <= 0:
        return "no clear difference"
    if one.separates >= CLEARLY:
        return "separates well", "c-good"
    return "separates a little" if one.separates >= HARDLY else "hardly separates"
