"""One lab, recorded: by a learner who is right and begins with it, and by one who is wrong and has done all the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import seams
from book import Book
from dials import turn
from learner import walk
from review import sit
from visits import Visit, ledger_at

Export = dict[str, Any]
REVIEW = "review"
UNCHAINED = "ironlaw-ledger/1"
CARD = ("slug", "title", "teaches", "minutes", "starts_from", "error")  # of the gallery


def record(book: Book, slug: str, settings: int, full: Export | None) -> None:
    lab = seams.labs()[slug]
    book.keep(f"labs/{slug}/card", {"card": {name: getattr(lab, name) for name in CARD}})
    for whose, right, first in (("own", True, 0), ("full", False, 1)):
        with ledger_at(book.place / f"{whose}.db") as ledger:
            if whose == "full" and full is not None:
                ledger.import_(without(full, slug))
            play(book, lab, ledger, f"labs/{slug}/{whose}", right, range(first, settings, 2))


def play(book: Book, lab: Any, ledger: Any, key: str, right: bool | None, numbers: Sequence[int]) -> None:
    """From the opening to the end, then the dials at the settings of these numbers."""
    visit = Visit(lab, ledger)
    book.keep(f"{key}/opened", visit.shown())
    if lab.slug == REVIEW:
        sit(visit, book, key)
    walk(visit, book, f"{key}/walk", right)
    visit.close()
    visit = Visit(lab, ledger)
    book.keep(f"{key}/complete", visit.shown())
    turn(visit, book, key, numbers)
    visit.close()


def without(full: Export, slug: str) -> Export:
    """The ledger of somebody who has done all labs but this one: as a version without a chain exported it, since this one has a gap."""
    head = {name: full[name] for name in ("exported", "learner")}
    return {**head, "format": UNCHAINED, "events": [_unchained(event) for event in full["events"] if event["lab"] != slug]}


def _unchained(event: Export) -> Export:
    return {name: value for name, value in event.items() if name != "hash"}


def full_ledger(book: Book, settings: int) -> Export:
    """All labs done by one learner, one after the other, each saved after its dials were turned a few times."""
    with ledger_at(book.place / "all.db") as ledger:
        for slug, lab in seams.labs().items():
            visit = Visit(lab, ledger)
            walk(visit, book, f"ledger/{slug}/walk", None)
            turn(visit, book, f"ledger/{slug}", range(settings))
            visit.close()
        export: Export = ledger.export()
    return export
