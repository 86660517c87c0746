"""How long a lab's core takes, by what it shows: its words at a reader's pace, a minute a step, and five for the task.

What a fold hides is counted, since a step leads to it; what comes after the receipt is not. The header says `minutes` of `[lab]`, and
`ironlaw lab check` holds that to this estimate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil
from typing import Any

from ironlaw.kit import journey
from ironlaw.kit.page import PIECE, Page
from ironlaw.widget.piece import Piece

PACE = 200  # words a minute
STEP, TASK = 1, 5  # minutes
LONGEST = 45  # minutes of a core
OVER, UNDER = 6, 1  # minutes that the header may say too many, or too few
TAG = re.compile(r"<[^>]+>")
AROUND = ("rail", "hud")
QUESTION, PICTURE, CARD = ("question", "premises"), ("title", "note", "caption", "foot"), ("label", "note")


def estimate(page: Page) -> float:
    """Minutes, of a page on which everything is open."""
    words = sum(len(TAG.sub(" ", text).split()) for text in texts(page))
    return words / PACE + STEP * len(page.lab.places) + (TASK if page.lab.aims else 0)


def faults(page: Page) -> Iterator[str]:
    takes, said = estimate(page), int(page.lab.sheet.lab["minutes"])
    if takes > LONGEST:
        yield f"{page.lab.slug}: its core takes {takes:.0f} minutes, {LONGEST} at most; cut words, or list places under `further`"
    if not -UNDER <= said - takes <= OVER:
        about = 5 * ceil(takes / 5)
        yield f"{page.lab.slug}/questions.toml: minutes = {said}, and what it shows takes {takes:.0f}; write minutes = {about}"


def texts(page: Page) -> Iterator[str]:
    """What the core's cells say, and the pieces in them."""
    for name, html in page.html_of.items():
        if name == journey.FURTHER:
            return
        if name not in AROUND:
            yield html
            for piece in PIECE.findall(html):
                yield from shown(page.pieces[piece].widget)


def shown(piece: Piece) -> Iterator[str]:
    spec, view = piece.spec, piece.view
    yield from (str(spec[part]) for part in QUESTION if part in spec)
    yield from (str(option["label"]) for option in spec.get("options", ()))
    yield str((view.get("answered") or view).get("feedback") or "")
    if piece.kind == "instrument":
        yield from _instrument(spec, view)


def _instrument(spec: dict[str, Any], view: dict[str, Any]) -> Iterator[str]:
    yield from (str(spec["title"]), str(spec["task"]), (spec["reason"] or {}).get("text", ""))
    for dial in spec["dials"]:
        if not dial.get("more") and not dial.get("hidden"):
            yield from (str(dial["label"]), *(str(option["label"]) for option in dial.get("options", ())))
    for parts, listed in ((PICTURE, view["figures"]), (CARD, view["cards"]), (("title", "text"), [view["banner"] or {}])):
        yield from (str(each[part]) for each in listed for part in parts if each.get(part))
    yield from (view["note"], view["formula"])
