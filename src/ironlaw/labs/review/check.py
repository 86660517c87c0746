"""The check of the review, which has cards and pieces instead of acts.

Its words are checked as a lab's are. It is run on an empty ledger and on one with an answer of each kind, a tick and a text; then every
piece that asks is answered. Nothing may fail, and every section of the words must have been shown.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from string import ascii_lowercase as LETTERS
from typing import Any

from ironlaw.kit.check_prose import prose
from ironlaw.kit.page import Page
from ironlaw.labs.review import review
from ironlaw.ledger import open_ledger
from ironlaw.recall import checklist, grade, record
from ironlaw.recall.card_templates import KINDS, templates
from ironlaw.widget.piece import Piece


def problems(folder: Path, run: bool = True) -> list[str]:
    """Every fault of the review, each in a sentence that says where."""
    with tempfile.TemporaryDirectory() as place, open_ledger(Path(place) / "check.db") as ledger:
        page = review.open(folder, ledger)
        faults = list(prose(page.words))
        if faults or not run:
            return faults
        used: set[str] = set()
        for stage in ("empty", "answered"):
            drawn = Page(folder, ledger)
            drawn.open()
            page = drawn.lab
            wrong = [f"{folder.name}: the cell {name} does not run {stage}: {error}" for name, error in drawn.failed.items()]
            wrong = wrong or [line for name, element in page.elements.items() for line in try_piece(name, element.widget)]
            if wrong:
                return wrong
            used |= page.words.used
            answer_each_kind(page)
        idle = [name for name in page.words.sections if name not in used]
        return [f"{page.words.where} [{name}]: nothing shows it; take it out, or show it" for name in idle]


def try_piece(name: str, piece: Piece) -> Iterator[str]:
    """What the piece can't compute: as opened, then with each of its questions answered."""
    for state in chain([{}], states(piece)):
        if state:
            piece.state = {**piece.state, **state}
        error = piece.view.get("error")
        if error and not error["dial"]:  # a dial that could not stay gives a reason, which is not a fault
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
        yield from turns(piece)


def turns(piece: Piece) -> Iterator[dict[str, Any]]:
    """Every option of every dial, every span at both ends, and all spans at their upper end together."""
    begin = {dial["id"]: dial["options"][-1]["value"] if dial["id"] == "guess" else dial["value"] for dial in piece.spec["dials"]}
    begin |= {dial["id"]: True for dial in piece.spec["dials"] if dial["type"] == "switch"}  # what asks first shows its key then
    spans = {dial["id"]: dial["max"] for dial in piece.spec["dials"] if "max" in dial}
    yield {"dials": begin}
    for dial in piece.spec["dials"]:
        for value in (
            [option["value"] for option in dial["options"]] if "options" in dial else [dial.get("min", False), dial.get("max", True)]
        ):
            yield {"dials": {**begin, dial["id"]: value}}
    yield {"dials": {**begin, **spans}}


def answer_each_kind(page: review.Review) -> None:
    """One answer to a card of each kind, a tick and a text."""
    session = page.desk.session
    for kind in KINDS:
        card = next(one for one in templates().values() if one.kind == kind)
        variant = session.variant(card)
        answer = {"numeric": f"{variant.key} {card.unit}", "choice": "a", "order": " ".join(LETTERS[: len(variant.choices)])}.get(
            kind, "words"
        )
        verdict = grade.grade_explanation(variant, set()) if kind == "explain" else grade.grade(variant, answer)
        session.answer(variant, answer, 4, verdict)
    record.tick(page.ledger, next(iter(checklist.sheet().statements)), True)
    record.save_text(page.ledger, next(iter(checklist.sheet().prompts)), "A text.")
