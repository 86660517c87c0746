"""The check of the review, which has cards and pieces instead of acts.

Its words are read as a lab's are. It is run on an empty ledger and on one with an answer of each kind, a tick and a text; then every
piece that asks is answered. Nothing may fail, and every section of the words must have been shown.
"""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from string import ascii_lowercase as LETTERS
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.kit import review
from ironlaw.kit.check_prose import prose
from ironlaw.ledger import open_ledger
from ironlaw.recall import checklist, grade, record
from ironlaw.recall.templates import KINDS, templates
from ironlaw.widget.piece import Piece


def problems(folder: Path, run: bool = True) -> list[str]:
    """Everything that is wrong with it, each in a sentence that says where."""
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place) / "check.db") as ledger:
        opened = review.open(folder, ledger)
        found = list(prose(opened.words))
        if found or not run:
            return found
        app = runpy.run_path(str(folder / "lab.py"))["app"]
        shown: set[str] = set()
        for stage in ("empty", "answered"):
            try:
                opened = review.open(folder, ledger)
                app.run(defs={"lab": opened})
                wrong = [line for name, element in opened.shown.items() for line in try_piece(name, element.widget)]
            except IronlawError as error:
                wrong = [str(error)]
            except Exception as error:
                wrong = [f"{folder.name}/lab.py does not run {stage}: {type(error).__name__}: {error}"]
            if wrong:
                return wrong
            shown |= opened.words.used
            answer_each_kind(opened)
        idle = [name for name in opened.words.sections if name not in shown]
        return [f"{opened.words.where} [{name}]: nothing shows it; take it out, or show it" for name in idle]


def try_piece(name: str, piece: Piece) -> Iterator[str]:
    """The piece as it is opened, then with everything answered that it asks; what it can't compute."""
    for state in chain([{}], states(piece)):
        if state:
            piece.state = {**piece.state, **state}
        error = piece.view.get("error")
        if error and not error["dial"]:  # a dial that could not stay says why, and that is not a fault
            yield f"the piece {name} can't compute {state}: {error['message']}"
            return


def states(piece: Piece) -> Iterator[dict[str, Any]]:
    if piece.kind == "spectrum":
        yield {"guesses": {way["id"]: piece.spec["outcomes"][0][0] for way in piece.spec["ways"]}}
    elif piece.kind == "map":
        yield from ({"open": name} for row in piece.spec["rows"] for name in row)
    elif piece.kind in ("loop", "walk"):
        while piece.view.get("next") or (piece.kind == "loop" and not piece.view.get("after")):
            yield {"answers": [*piece.state["answers"], 0 if piece.kind == "loop" else False]}
    elif piece.kind == "instrument":
        yield from turned(piece)


def turned(piece: Piece) -> Iterator[dict[str, Any]]:
    """Every option of every dial, every span at both ends, and all spans at their upper end together."""
    begin = {dial["id"]: dial["options"][-1]["value"] if dial["id"] == "guess" else dial["value"] for dial in piece.spec["dials"]}
    spans = {dial["id"]: dial["max"] for dial in piece.spec["dials"] if "max" in dial}
    yield {"dials": begin}
    for dial in piece.spec["dials"]:
        for value in [option["value"] for option in dial["options"]] if "options" in dial else [dial["min"], dial["max"]]:
            yield {"dials": {**begin, dial["id"]: value}}
    yield {"dials": {**begin, **spans}}


def answer_each_kind(opened: review.Review) -> None:
    """One answer to a card of each kind, a tick and a text."""
    session = opened.desk.session
    for kind in KINDS:
        card = next(found for found in templates().values() if found.kind == kind)
        shown = session.variant(card)
        typed = {"numeric": f"{shown.key} {card.unit}", "choice": "a", "order": " ".join(LETTERS[: len(shown.choices)])}.get(kind, "words")
        made = grade.grade_explanation(shown, set()) if kind == "explain" else grade.grade(shown, typed)
        session.answer(shown, typed, 4, made)
    record.tick(opened.ledger, next(iter(checklist.sheet().statements)), True)
    record.save_text(opened.ledger, next(iter(checklist.sheet().prompts)), "A text.")
