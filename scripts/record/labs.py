"""One lab, recorded: by a learner who is right and begins with it, and by one who is wrong and has done all the others."""

from __future__ import annotations

from typing import Any

from book import Book
from dials import turn
from learner import walk
from review import sit
from visits import Visit, ledger_at

Export = dict[str, Any]


def catalogue() -> dict[str, Any]:
    """Slug -> lab, in the order of the course."""
    from ironlaw.pages.catalogue import catalogue as labs

    return {lab.slug: lab for lab in labs()}


def record(book: Book, slug: str, settings: int, full: Export | None) -> None:
    lab = catalogue()[slug]
    book.keep(f"labs/{slug}/card", {"card": {name: value for name, value in vars(lab).items() if name != "folder"}})
    half = (settings + 1) // 2
    for whose, right, first, count in (("own", True, 0, half), ("full", False, half, settings - half)):
        with ledger_at(book.place / f"{whose}.db") as ledger:
            if whose == "full" and full is not None:
                ledger.import_(without(full, slug))
            key = f"labs/{slug}/{whose}"
            visit = Visit(lab, ledger)
            book.keep(f"{key}/opened", visit.shown())
            if slug == "review":
                sit(visit, book, key)
            walk(visit, book, f"{key}/walk", right)
            visit.close()
            visit = Visit(lab, ledger)
            book.keep(f"{key}/complete", visit.shown())
            turn(visit, book, f"{key}/turned", first, count)
            visit.close()


def without(full: Export, slug: str) -> Export:
    """The ledger of somebody who has done all labs but this one; a chain with a gap would be refused, so it goes without."""
    return {name: value for name, value in full.items() if name != "chain"} | {
        "events": [event for event in full["events"] if event["lab"] != slug]
    }


def full_ledger(book: Book, settings: int) -> Export:
    """All labs done by one learner, one after the other, each saved after its dials were turned a few times."""
    with ledger_at(book.place / "all.db") as ledger:
        for slug, lab in catalogue().items():
            visit = Visit(lab, ledger)
            walk(visit, book, f"ledger/{slug}/walk", None)
            turn(visit, book, f"ledger/{slug}/turned", 1000, settings)
            visit.close()
        export: Export = ledger.export()
    return export
