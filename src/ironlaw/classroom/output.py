"""Where the report goes: a folder with one page and the CSV files, each whole or not at all, readable by their owner alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.classroom.answer_counts import ClassFigures, finished, own_brier
from ironlaw.classroom.class_page import html
from ironlaw.classroom.class_tables import TABLES
from ironlaw.errors import BadValue
from ironlaw.files import output, replace_bytes, replace_text

if TYPE_CHECKING:
    from ironlaw.outputs.review_output import ClassReportJson

PAGE = "report.html"


def folder_of(place: Path, hand_ins: Path) -> Path:
    """The folder, before any work: BadValue if the report may not go there."""
    if place.exists() and not place.is_dir():
        raise BadValue(f"{place} is a file; --out names the folder for the report")
    if place.exists() and place.resolve() == hand_ins.resolve():
        raise BadValue(f"{place} holds the files that were handed in; name another folder with --out, such as class-report")
    for name, table in TABLES.items():
        output(place / name, "the report", accepts=table.accepts)
    output(place / PAGE, "the report", accepts=lambda head: head.lstrip().lower().startswith(b"<!doctype html"))
    return place


def write(figures: ClassFigures, place: Path, names: bool = False) -> list[Path]:
    """The files, the page first. An earlier report there is replaced."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        paths = [replace_text(place / PAGE, html(figures, names), private=True)]
        return paths + [replace_bytes(place / name, memoryview(table.content(figures)), private=True) for name, table in TABLES.items()]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadValue(f"the report can't be written to {place}: {reason}; name another folder with --out") from None


def summary(figures: ClassFigures) -> ClassReportJson:
    """The same figures as JSON; seconds are seconds, shares are from 0 to 1."""
    call = figures.naming.file
    return {
        "files": figures.files,
        "refused": [{"file": call(r.file), "kind": r.kind, "reason": r.words(call)} for r in figures.hand_ins.refused],
        "hidden": [] if figures.naming.pseudonyms else list(figures.hand_ins.hidden),
        "notes": [{"file": call(r.file), "kind": r.kind, "reason": r.words(call)} for r in figures.hand_ins.notes],
        "learners": [
            {
                "learner": one.label, "finished": [slug for slug, lab in figures.sheets.items() if finished(one, lab)],
                "answered": len(one.work.answers), "right": sum(a.correct for a in one.work.answers.values()), "brier": own_brier(one),
                "cards": len(one.work.reviews), "active_s": sum(one.work.active_s.values()), "resets": one.work.resets,
                "verified": one.hand_in.verified,
            }
            for one in figures.learners
        ],
        "questions": [
            {
                "lab": one.item.lab, "question": one.item.name, "n": one.n, "right": one.right,
                "options": {option.choice: option.chosen for option in one.options}, "median_orders": one.orders,
                "median_orders_off": one.off, "separates": one.separates, "interval": one.interval, "compared": one.compared,
            }
            for one in figures.items
        ],
        "misconceptions": [
            {"name": one.name, "met": one.met, "chose": one.chose, "sure": one.sure, "given_up": one.given_up} for one in figures.beliefs
        ],
        "steps": [
            {"lab": one.lab, "step": one.step, "n": one.n, "left_out": one.left_out, "quartiles_s": one.quartiles} for one in figures.steps
        ],
        "calibration": [
            {
                "answers": one.what, "brier": one.brier,
                "levels": [{"confidence": r.confidence, "stated": r.stated, "n": r.answers, "right": r.right} for r in one.rows],
            }
            for one in figures.calibration
        ],
        "idle_s": figures.idle_s,
    }  # fmt: skip
